from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cutile_sim.cli.written import compare, host_array, named_arrays, save, summarize
from cutile_sim.errors import UsageError


class Protocol:
    """Offers nothing but `__array_interface__`."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Exporter:
    """Offers nothing but DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_names_of_arrays() -> None:
    x, y = np.zeros(1), np.zeros(2)
    found = named_arrays({"a": x, "b": 3, "c": (1.5, (y,)), "d": [x, y], "e": np.float32(1), "f": "text"})
    assert {name: id(value) for name, value in found.items()} == {
        "a": id(x), "c[1][0]": id(y), "d[0]": id(x), "d[1]": id(y),
    }  # fmt: skip


@pytest.mark.parametrize("wrap", [Protocol, Exporter])
def test_host_array_shares_memory(wrap: type) -> None:
    owner = np.arange(12.0).reshape(3, 4)
    wrapped = wrap(owner[1:, ::2])
    seen = host_array("x", wrapped)
    assert np.array_equal(seen, owner[1:, ::2])
    owner[1, 2] = 99
    assert seen[0, 1] == 99
    assert host_array("x", wrap(owner[:0])).shape == (0, 4)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_summary_of_floats(dtype: type) -> None:
    summary = summarize("x", np.array([[1, np.nan, -2], [np.inf, 0.5, 3]], dtype))
    assert summary.fields() == {
        "name": "x",
        "shape": [2, 3],
        "dtype": np.dtype(dtype).name,
        "first": [1.0, pytest.approx(np.nan, nan_ok=True), -2.0, np.inf],
        "min": -2.0,
        "max": np.inf,
        "nan_count": 1,
    }
    assert str(summary) == f"x  {np.dtype(dtype).name}[2,3]  1 nan -2 inf ...  min -2  max inf  NaN 1"


def test_summary_of_other_arrays() -> None:
    assert str(summarize("n", np.array(2**63, np.uint64))) == f"n  uint64[]  {2**63}  min {2**63}  max {2**63}"
    assert str(summarize("b", np.array([True, False]))) == "b  bool[2]  True False  min False  max True"
    assert str(summarize("e", np.zeros((0, 3), np.float32))) == "e  float32[0,3]  "
    assert summarize("a", np.full(3, np.nan)).low is None


def test_comparison() -> None:
    x = np.array([1.0, np.nan, np.inf, 100.0])
    assert not compare("x", x, x.copy(), 0, 0).problem
    assert not compare("x", x, x * 1.01, 0.02, 0).problem
    assert not compare("x", np.zeros(3), np.array(0), 0, 0).problem
    near = compare("x", x, x + np.array([0, 0, 0, 0.5]), 0, 0.25)
    assert near.problem == "1 of 4 elements differ; x[3] is 100.0, not 100.5; at most by 0.5"
    assert "1 of 4" in compare("x", x, np.array([1, 2, np.inf, 100]), 1, 1).problem
    assert "its shape is (4,), but (2, 2) was expected" in compare("x", x, x.reshape(2, 2), 0, 0).problem


def test_integers_are_compared_exactly() -> None:
    big = np.array([2**62, 5])
    assert compare("x", big, big + np.array([1, 0]), 0, 0).problem == (
        f"1 of 2 elements differ; x[0] is {2**62}, not {2**62 + 1}"
    )


def test_save(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    plain, narrow = np.arange(6.0).reshape(2, 3).T, np.array([1.5, -2], ml_dtypes.bfloat16)
    save(str(path), {"plain": plain, "items[0]": narrow})
    with np.load(path) as saved:
        assert sorted(saved) == ["items[0]", "items[0].dtype", "plain"]
        assert np.array_equal(saved["plain"], plain)
        assert str(saved["items[0].dtype"]) == "bfloat16"
        assert np.array_equal(saved["items[0]"].view(ml_dtypes.bfloat16), narrow)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.npz"
    path.write_bytes(b"old")

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full_disk)
    with pytest.raises(UsageError, match=r"cannot write .*out\.npz: No space left"):
        save(str(path), {"x": np.zeros(3)})
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_save_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        save(str(tmp_path / "nowhere" / "out.npz"), {})
