"""`simulate` and `load`: options, kernels that come as bytecode, every bytecode version, errors."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cutile_sim import AssertionFailedError, DecodeError, UsageError, load, simulate
from cutile_sim.frontend.export import compile_kernel

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")


@ct.kernel
def busy(x, y, scale, n):
    """A little of everything."""
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, (i, j), (4, 8), padding_mode=ct.PaddingMode.ZERO)
    total = ct.sum(t, axis=1)
    for k in range(n + i):
        if k == j:
            continue
        total = total * scale + k
    if i > j:
        total = -total
    at = i * 4 + ct.arange(4, dtype=ct.int32)
    ct.atomic_add(y, at, total)
    ct.print("at", i, j)


@ct.kernel
def positive(x):
    t = ct.load(x, (ct.bid(0), 0), (1, 4))
    ct.print("row", ct.bid(0))
    ct.assert_(t > 0, "not positive")


@ct.kernel
def copy(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (4,)))


def inputs() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).integers(-5, 5, (11, 20)).astype(np.float32), np.zeros(12, np.float32)


GRID = (3, 3)
TEXT = "".join(f"at {i} {j}\n" for j in range(3) for i in range(3))


def expected() -> np.ndarray:
    x, y = inputs()
    x = np.pad(x, ((0, 1), (0, 4)))
    for i in range(3):
        for j in range(3):
            total = x[4 * i : 4 * i + 4, 8 * j : 8 * j + 8].sum(axis=1)
            for k in range(2 + i):
                if k != j:
                    total = total * np.float32(0.5) + k
            y[4 * i : 4 * i + 4] += -total if i > j else total
    return y


@pytest.mark.parametrize("version", [None, "13.1", "13.2", "13.3", "13.4"])
@pytest.mark.parametrize("arch", [None, "sm_90", "sm_120"])
def test_every_version_gives_the_same(version, arch):
    x, y = inputs()
    result = simulate(busy, GRID, x, y, 0.5, 2, bytecode_version=version, arch=arch, echo=False)
    np.testing.assert_array_equal(y, expected())
    assert (result.printed, result.blocks, result.written) == (TEXT, 9, ("y",))


@pytest.fixture
def bytecode_file(tmp_path):
    x, y = inputs()
    path = tmp_path / "busy.tileirbc"
    path.write_bytes(compile_kernel(busy, (x, y, 0.5, 2)).bytecode)
    return path


def test_bytecode_file_gives_what_the_kernel_gives(bytecode_file):
    x, y = inputs()
    module = load(bytecode_file)
    result = simulate(module, GRID, x, y, 0.5, 2, echo=False)
    np.testing.assert_array_equal(y, expected())
    assert result.printed == TEXT
    again = inputs()[1]
    by_kernel = simulate(busy, GRID, x, again, 0.5, 2, echo=False)
    assert (result.operations, result.bytes_loaded, result.bytes_stored) == (
        by_kernel.operations,
        by_kernel.bytes_loaded,
        by_kernel.bytes_stored,
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x, y: (x, y, 0.5), "takes 10 flat parameters"),
        (lambda x, y: (x, y, 0.5, 2, 3), "one too many"),
        (lambda x, y: (x.astype(np.float64), y, 0.5, 2), "is an array of f64, but .* points to f32"),
        (lambda x, y: (y, x, 0.5, 2), "arg1 is an array, but flat parameter 3 of the kernel is a tile<i32>"),
        (lambda x, y: (x, 0.5, y, 2), "arg1 gives a number where"),
        (lambda x, y: (x, y, y, 2), "arg2 is an array, but flat parameter 8 of the kernel is a tile<f32>"),
        (lambda x, y: (x, y, 0.5, 2.5), "arg3 is 2.5, but"),
        (lambda x, y: (x, y, 0.5, 2**40), "arg3 is 1099511627776, which does not fit i32"),
        (lambda x, y: (x, y[::-1], 0.5, 2), "negative strides"),
        (lambda x, y: (x, "y", 0.5, 2), "arg1 is a str, but bytecode takes numbers and arrays only"),
        (lambda x, y: (x, (y,), 0.5, 2), "arg1 is a tuple, .*: pass a tuple's items one by one"),
    ],
)
def test_arguments_that_do_not_fit_bytecode(bytecode_file, change, text):
    x, y = inputs()
    with pytest.raises(UsageError, match=text) as caught:
        simulate(load(bytecode_file), GRID, *change(x, y))
    assert "\n" not in str(caught.value)
    assert not y.any()


def test_files_that_are_no_bytecode(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read .*nothing\.tileirbc: No such file"):
        load(tmp_path / "nothing.tileirbc")
    with pytest.raises(UsageError, match=r"cannot read .*: Is a directory"):
        load(tmp_path)
    (tmp_path / "text").write_text("no bytecode")
    with pytest.raises(DecodeError):
        load(tmp_path / "text")


def test_echo(capsys):
    x, y = inputs()
    result = simulate(busy, GRID, x, y, 0.5, 2)
    assert capsys.readouterr().out == result.printed == TEXT
    simulate(busy, GRID, x, y, 0.5, 2, echo=False)
    assert capsys.readouterr().out == ""
    simulate(busy, GRID, x, y, 0.5, 2, echo=(stream := io.StringIO()))
    assert stream.getvalue() == TEXT


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"undetermined": "random"}, "undetermined must be one of sentinel, zero, ones, not 'random'"),
        ({"batch_blocks": 0}, "batch_blocks must be more than 0, not 0"),
        ({"batch_blocks": -3}, "batch_blocks must be more than 0"),
        ({"step_limit": 0}, "step_limit must be more than 0"),
        ({"workers": 0}, "workers must be a whole number from 1 on, not 0"),
        ({"workers": 1.5}, "workers must be a whole number from 1 on, not 1.5"),
        ({"workers": "2"}, "workers must be a whole number from 1 on, not '2'"),
        ({"workers": 2, "sanitize": True}, "a launch that is watched runs on one thread: leave out workers"),
        ({"time_limit": -1.0}, "time_limit must be more than 0"),
        ({"bytecode_version": "12.0"}, "bytecode version 12.0 is unknown"),
        ({"arch": "hopper"}, "'hopper' is not the name of a GPU architecture"),
    ],
)
def test_wrong_options(options, text):
    x = np.zeros(4, np.float32)
    with pytest.raises(UsageError, match=text):
        simulate(copy, 1, x, x.copy(), **options)


def test_wrong_kernels():
    with pytest.raises(UsageError, match="is not a kernel"):
        simulate(len, 1)
    with pytest.raises(UsageError, match="expects 2 arguments but 1 was given"):
        simulate(copy, 1, np.zeros(4, np.float32))


def test_failed_assertion_prints_as_on_the_gpu_and_keeps_the_text(capsys):
    x = np.array([[1, 1, 1, 1], [0, 5, -1, 6], [7, 0, 2, 2]], np.float32)
    with pytest.raises(AssertionFailedError, match="assertion failed: not positive") as caught:
        simulate(positive, 3, x)
    error = caught.value
    assert (error.block, error.lane) == ((1, 0, 0), (0, 0))
    assert error.location is not None
    place = f"{error.location.file}:{error.location.line}"
    assert error.printed == (
        "row 0\nrow 1\n"
        f"{place}: tile block: [1, 0, 0], position: [0, 0]: not positive\n"
        f"{place}: tile block: [1, 0, 0], position: [0, 2]: not positive\n"
        "row 2\n"
        f"{place}: tile block: [2, 0, 0], position: [0, 1]: not positive\n"
    )
    assert capsys.readouterr().out == error.printed
    assert 'ct.assert_(t > 0, "not positive")' in str(error)
    x[...] = 1
    assert simulate(positive, 3, x, echo=False).printed == "row 0\nrow 1\nrow 2\n"
