"""Numbers for the page: arrays of them compactly, and single ones as JSON has them."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np

_LEVEL = 1
_TYPES = {"u1": np.uint8, "u4": np.uint32, "i4": np.int32, "f4": np.float32, "f8": np.float64}


def pack(values: np.ndarray, kind: str) -> dict[str, str]:
    """An array as the page unpacks it: flat, little-endian, compressed. Integers that do not fit become the nearest."""
    dtype = np.dtype(_TYPES[kind]).newbyteorder("<")
    if dtype.kind in "iu" and values.dtype.kind in "iu":
        low, high = (-(1 << 31), (1 << 31) - 1) if dtype.kind == "i" else (0, (1 << 8 * dtype.itemsize) - 1)
        values = np.clip(values, low, high)
    with np.errstate(over="ignore"):  # doubles beyond float32 are infinite
        data = np.ascontiguousarray(values, dtype).tobytes()
    return {"type": kind, "packed": base64.b64encode(zlib.compress(data, _LEVEL)).decode()}


def finite(value: float) -> float | None:
    """The number, or None for what JSON has no word for."""
    return float(value) if math.isfinite(value) else None


def words_of(value: Any) -> str:
    """An element of an array in words."""
    return str(value.item() if value.dtype.kind in "biuf" else float(value))
