"""How values are printed."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_ELEMENTS = 1000
"""A larger array is printed with its middle left out."""
LINE_CHARACTERS = 110


def described(value: Any) -> str:
    """What a value is, in a few words: `float32[64, 64]`, `int32 3`, `64`."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return f"{value.dtype} {_short(value)}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(described, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def shown(value: Any) -> str:
    """A value in full; of large arrays the corners, under a line that says what it is."""
    if isinstance(value, np.ndarray) and value.ndim:
        body = np.array2string(
            value, max_line_width=LINE_CHARACTERS, threshold=MAX_ELEMENTS, edgeitems=3, separator=" "
        )
        return f"{described(value)}\n{body}"
    return str(value) if isinstance(value, np.generic) else described(value)


def summary(value: Any) -> str:
    """A value in one line: an array with its range."""
    if not isinstance(value, np.ndarray) or not value.ndim:
        return described(value)
    if value.size <= 4:
        return f"{described(value)} {' '.join(map(_short, value.ravel()))}"
    numbers = value.astype(np.float64) if value.dtype.kind not in "biufc" else value
    with np.errstate(all="ignore"):
        bad = int(np.isnan(numbers).sum()) if numbers.dtype.kind == "f" else 0
        if bad == numbers.size:
            return f"{described(value)} all NaN"
        low, high = (np.nanmin(numbers), np.nanmax(numbers)) if bad else (numbers.min(), numbers.max())
    return f"{described(value)} {_short(low)} .. {_short(high)}" + (f", NaN {bad}" if bad else "")


def _short(value: Any) -> str:
    return f"{float(value):.6g}" if np.asarray(value).dtype.kind not in "biu" else str(value)
