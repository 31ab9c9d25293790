from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.cli.specs import dtype_named, make_argument, make_arguments, split_argument
from cutile_sim.errors import UsageError


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("zeros:i8[2,3]", np.zeros((2, 3), np.int8)),
        ("ones:bf16[4]", np.ones(4, ml_dtypes.bfloat16)),
        ("ones:bfloat16[4]", np.ones(4, ml_dtypes.bfloat16)),
        ("arange:u8[2,2]", np.array([[0, 1], [2, 3]], np.uint8)),
        ("arange:f8e4m3fn[3]", np.array([0, 1, 2], ml_dtypes.float8_e4m3fn)),
        ("arange:bool[4]", np.array([False, True, False, True])),
        ("full(3):u16[2]", np.array([3, 3], np.uint16)),
        ("full(-inf):f16[1]", np.array([-np.inf], np.float16)),
        ("full( 0x10 ) : int64 [ 2, 1 ]", np.array([[16], [16]], np.int64)),
        ("full(true):bool[1]", np.array([True])),
        ("zeros:float32[]", np.zeros((), np.float32)),
        ("zeros:f64[0,4]", np.zeros((0, 4))),
    ],
)
def test_array(spec: str, expected: np.ndarray) -> None:
    array = make_argument("x", spec)
    assert array.dtype == expected.dtype and array.shape == expected.shape
    assert np.array_equal(array, expected)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("12", 12), ("-3", -3), ("0x1f", 31), ("1.5", 1.5), ("1e-5", 1e-5), ("2.", 2.0), ("true", True), ("False", False)],
)
def test_number(spec: str, expected: object) -> None:
    value = make_argument("x", spec)
    assert value == expected and type(value) is type(expected)


@given(st.integers() | st.floats(allow_nan=False))
@settings(max_examples=40)
def test_numbers_come_back(value: float) -> None:
    back = make_argument("x", repr(value))
    assert back == value and type(back) is type(value)


def test_collections() -> None:
    arrays = make_argument("x", "[ones:f32[2], zeros:f32[3],]")
    assert isinstance(arrays, list) and [a.shape for a in arrays] == [(2,), (3,)]
    assert make_argument("x", "(1, (2.5, true), ())") == (1, (2.5, True), ())


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "f8e4m3fn", "f8e5m2"])
def test_random_floats_are_standard_normal(dtype: str) -> None:
    drawn = make_argument("x", f"rand:{dtype}[4000]").astype(np.float64)
    assert np.isfinite(drawn).all() and abs(drawn.mean()) < 0.1 and 0.9 < drawn.std() < 1.1


def test_random_integers_are_small() -> None:
    assert set(make_argument("x", "rand:i8[1000]").tolist()) == set(range(-8, 8))
    assert set(make_argument("x", "rand:u64[1000]").tolist()) == set(range(16))
    assert set(make_argument("x", "rand:bool[100]").tolist()) == {False, True}
    assert set(make_argument("x", "rand:f8e8m0fnu[500]").astype(float).tolist()) == {2.0**e for e in range(-4, 5)}


def test_random_depends_on_seed_and_name_alone() -> None:
    alone = make_argument("x", "rand:f32[8]")
    among = make_arguments(["y=rand:f32[3]", "x=rand:f32[8]"])
    assert np.array_equal(alone, among["x"])
    assert not np.array_equal(alone, make_argument("y", "rand:f32[8]"))
    assert not np.array_equal(alone, make_argument("x", "rand:f32[8]", seed=1))


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "a, b[1].npy"
    np.save(path, np.arange(6, dtype=np.int16).reshape(2, 3))
    assert np.array_equal(make_argument("x", str(path)), [[0, 1, 2], [3, 4, 5]])
    assert make_argument("x", f"[{path}, {path}:u16]")[1].dtype == np.uint16


@pytest.mark.parametrize(("short", "dtype"), [("bf16", ml_dtypes.bfloat16), ("f8e5m2", ml_dtypes.float8_e5m2)])
def test_file_of_types_that_numpy_does_not_name(tmp_path: Path, short: str, dtype: type) -> None:
    path = tmp_path / "x.npy"
    saved: np.ndarray = np.array([1.5, -2, 0.25], dtype)
    np.save(path, saved)
    with pytest.raises(UsageError, match="without a type: name it"):
        make_argument("x", str(path))
    back = make_argument("x", f"{path}:{short}")
    assert back.dtype == saved.dtype and np.array_equal(back, saved)
    with pytest.raises(UsageError, match="cannot be read as float64, of 8"):
        make_argument("x", f"{path}:f64")


def test_bad_files(tmp_path: Path) -> None:
    objects, damaged = tmp_path / "o.npy", tmp_path / "d.npy"
    np.save(objects, np.array([object()]), allow_pickle=True)
    damaged.write_bytes(b"\x93NUMPY\x01\x00")
    for path, message in ((objects, "never unpickled"), (damaged, "no usable"), (tmp_path / "n.npy", "No such file")):
        with pytest.raises(UsageError, match=message):
            make_argument("x", str(path))


@pytest.mark.parametrize(
    ("spec", "column", "message"),
    [
        ("rand:f23[4]", 5, "'f23' is unknown; did you mean f32"),
        ("rnad:f32[4]", 0, "did you mean rand"),
        ("rand", 0, "a colon and an element type must follow rand"),
        ("rand:f32", 8, "the shape must stand here"),
        ("rand:f32[4", 10, "a comma or ]"),
        ("rand:f32[a]", 9, "a length must stand here"),
        ("rand:f32[-1]", 9, "a length must stand here"),
        ("rand:f32[4]x", 11, "nothing may follow"),
        ("full:f32[2]", 4, "full takes its value in parentheses"),
        ("full(x):f32[2]", 5, "a number must stand here"),
        ("full(2.5):i32[2]", 0, "2.5 is not an integer"),
        ("full(-1):u8[2]", 0, "-1 does not fit uint8, which goes from 0 to 255"),
        ("zeros:f32[1000000,1000000]", 0, "GiB"),
        ("12abc", 0, "possible are rand:"),
        ("hello", 0, "possible are rand:"),
        ("[1,,2]", 3, "possible are rand:"),
        ("[1", 2, "a comma or ]"),
        ("1 2", 2, "nothing may follow"),
    ],
)
def test_bad_spec_points_at_the_fault(spec: str, column: int, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_argument("x", spec)
    first, shown, caret = caught.value.reason.split("\n")
    assert first.startswith("argument x: ") and message in first
    assert shown == "    " + spec
    assert caret == "    " + " " * column + "^"


@given(st.text("rand:f32[]()full0123,.- npy", max_size=20))
@settings(max_examples=200)
def test_any_text_is_a_value_or_a_usage_error(text: str) -> None:
    try:
        make_argument("x", text)
    except UsageError as error:
        assert text in error.reason


@pytest.mark.parametrize("text", ["x", "=1", "x=", " = "])
def test_argument_needs_name_and_spec(text: str) -> None:
    with pytest.raises(UsageError, match="write it as NAME=SPEC"):
        split_argument(text)


def test_argument_given_twice() -> None:
    with pytest.raises(UsageError, match="--arg x is given twice: 1 and 2"):
        make_arguments(["x=1", "x=2"])


def test_dtype_names() -> None:
    assert dtype_named("bool") == dtype_named("bool_") == np.bool_
    assert dtype_named("f8e8m0fnu") == ml_dtypes.float8_e8m0fnu
    assert dtype_named("complex64") is None and dtype_named("object") is None
