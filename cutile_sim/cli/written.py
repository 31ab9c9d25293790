"""What a launch wrote: summaries of arrays for people and JSON, comparison with what was expected, saving."""

from __future__ import annotations

import contextlib
import ctypes
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cutile_sim.cli.specs import dtype_named
from cutile_sim.errors import UsageError
from cutile_sim.frontend.arrays import is_array, read_array

FIRST_VALUES = 4


def named_arrays(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All arrays among the arguments by the names a launch gives them: `x`, `pair[0]`, `items[1]`."""
    return {name: value for top, item in arguments.items() for name, value in _arrays_in(top, item)}


def _arrays_in(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _arrays_in(f"{name}[{index}]", item)
    elif is_array(value):
        yield name, value


def host_array(name: str, value: Any) -> np.ndarray:
    """An array argument of any kind as a NumPy array over the same memory, which `value` must keep alive."""
    if isinstance(value, np.ndarray):
        return value
    described = read_array(value, name)
    dtype = dtype_named(described.dtype_name)
    assert dtype is not None
    if 0 in described.shape:
        return np.empty(described.shape, dtype)
    memory = (ctypes.c_uint8 * described.base_bytes).from_address(described.base_address)
    strides_bytes = tuple(stride * dtype.itemsize for stride in described.strides_elems)
    return np.ndarray(described.shape, dtype, memory, described.offset_bytes, strides_bytes)


@dataclass(frozen=True)
class Summary:
    """An array in short. `low` and `high` leave NaNs out; they are None where nothing else is there."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    first: list[Any]
    low: Any
    high: Any
    nan_count: int

    def fields(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "first": self.first,
            "min": self.low,
            "max": self.high,
            "nan_count": self.nan_count,
        }

    def __str__(self) -> str:
        shape = ",".join(map(str, self.shape))
        values = " ".join(map(_short, self.first)) + " ..." * (int(np.prod(self.shape)) > len(self.first))
        span = f"  min {_short(self.low)}  max {_short(self.high)}" if self.low is not None else ""
        nans = f"  NaN {self.nan_count}" if self.nan_count else ""
        return f"{self.name}  {self.dtype}[{shape}]  {values}{span}{nans}"


def summarize(name: str, array: np.ndarray) -> Summary:
    """The summary of one array of any element type."""
    # The narrow floats of ml_dtypes have no minimum of their own.
    values = array if array.dtype.isbuiltin == 1 else array.astype(np.float32)
    first = values.ravel()[:FIRST_VALUES].tolist() if array.size else []
    if values.dtype.kind != "f":
        low, high = (values.min().item(), values.max().item()) if array.size else (None, None)
        return Summary(name, array.shape, array.dtype.name, first, low, high, 0)
    nans = int(np.isnan(values).sum())
    if nans == array.size:
        return Summary(name, array.shape, array.dtype.name, first, None, None, nans)
    with np.errstate(all="ignore"):
        low, high = np.nanmin(values).item(), np.nanmax(values).item()
    return Summary(name, array.shape, array.dtype.name, first, low, high, nans)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Comparison:
    """How an array compares with what was expected of it. `problem` is empty where it agrees."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name}: as expected" if not self.problem else f"{self.name}: {self.problem}"


def compare(name: str, actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> Comparison:
    """Whether |actual - expected| <= atol + rtol * |expected| everywhere; NaN equals NaN.

    Integers without tolerances are compared exactly, everything else in float64. A scalar stands for all elements.
    """
    if expected.shape not in ((), actual.shape):
        return Comparison(name, f"its shape is {actual.shape}, but {expected.shape} was expected")
    expected = np.broadcast_to(expected, actual.shape)
    exact = not rtol and not atol and actual.dtype.kind in "biu" and expected.dtype.kind in "biu"
    with np.errstate(all="ignore"):
        if exact:
            bad = actual != expected
        else:
            got, want = actual.astype(np.float64), expected.astype(np.float64)
            near = np.abs(got - want) <= atol + rtol * np.abs(want)
            bad = ~(near | (got == want) | (np.isnan(got) & np.isnan(want)))
        count = int(bad.sum())
        if not count:
            return Comparison(name, "")
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f"[{', '.join(map(str, where))}]" if where else ""
        text = f"{count} of {actual.size} elements differ; {name}{place} is {actual[where]!s}, not {expected[where]!s}"
        if not exact:
            off = np.abs(got - want)[bad]
            text += f"; at most by {np.nanmax(off):.6g}" if not np.isnan(off).all() else ""
    return Comparison(name, text)


def expect_writable(path: str) -> None:
    """Raise UsageError, before anything has run, where a file cannot be written for want of a folder or permission."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {folder}")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: it is a folder, or the folder it lies in is not writable")


def save(path: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to an .npz file, all of it or nothing.

    NumPy's format knows no bfloat16 or float8: such an array `x` is stored as unsigned integers of its bits, with the
    name of its type as `x.dtype`. Raises UsageError where the file cannot be written.
    """
    target = Path(path)
    content: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if array.dtype.isbuiltin == 1:
            content[name] = array
        else:
            content[name] = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
            content[f"{name}.dtype"] = np.array(array.dtype.name)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, array in content.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        os.replace(partial, target)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)
