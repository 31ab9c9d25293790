"""The text that a kernel's print produces on the GPU.

A format is C's: `%[flags][width][.precision][length]specifier`. A tile prints each element by its specifier, in
brackets as nested as the tile has dimensions. Elements are passed as to a C variadic function: integers of 1 bit
extended with zeros, of 8 and 16 bits by their sign, to 32, floats widened to double. A specifier without `l` reads
32-bit words and one with it 64-bit words from those bytes, whatever the element is: a mismatch is undefined in Tile IR,
and shows on the GPU as here. Only `hh` differs: the GPU prints garbage, this keeps the low byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.tileir.types import TileType

_DIRECTIVE = re.compile(
    r"%(?:%|(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d*))?(?P<length>hh|h|ll|l|)"
    r"(?P<specifier>[diuoxXeEfFgGaA]))"
)
_INTEGER_SPECIFIERS = "diuoxX"
# A field wider than this is cut to it: no one reads it, and it must not fill the memory.
_MOST_CHARACTERS = 4096


def format_print(format: str, args: Sequence[tuple[np.ndarray, TileType]]) -> str:
    """The text one block prints.

    `args`: each tile as carried by the engine, of the type's shape, with its type, in the order of the directives.
    Anything that is no directive prints as it stands, and so does a directive that no argument is left for.
    """
    remaining = iter(args)
    return _DIRECTIVE.sub(lambda directive: _expand(directive, remaining), format)


def _expand(directive: re.Match[str], remaining: Iterator[tuple[np.ndarray, TileType]]) -> str:
    text = directive.group()
    if text == "%%":
        return "%"
    argument = next(remaining, None)
    if argument is None:
        return text
    values, tile_type = argument
    words = _read(_promoted(values, tile_type), directive["specifier"], directive["length"])
    field = _field(directive)
    return _nested([field(word) for word in words.tolist()], tile_type.shape)


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    """Texts of the elements in row-major order, in one pair of brackets a dimension."""
    for length in reversed(shape):
        texts = ["[" + ", ".join(texts[i : i + length]) + "]" for i in range(0, len(texts), length)]
    return texts[0]


def _promoted(values: np.ndarray, tile_type: TileType) -> np.ndarray:
    """The elements in row-major order, as passed: int32, int64 or float64."""
    flat = values.reshape(-1)
    if isinstance(tile_type.element, ElementType) and tile_type.element.is_float:
        return flat.astype(np.float64)
    return flat.astype(np.int32) if flat.dtype.itemsize < 4 else flat


def _read(promoted: np.ndarray, specifier: str, length: str) -> np.ndarray:
    """As many words as there are elements, of the type that the specifier reads; zeros behind the last byte."""
    raw = promoted.tobytes().ljust(promoted.size * 8, b"\0")
    if specifier not in _INTEGER_SPECIFIERS:
        return np.frombuffer(raw, np.float64, promoted.size)
    kind = "i" if specifier in "di" else "u"
    words = np.frombuffer(raw, kind + ("8" if "l" in length else "4"), promoted.size)
    return words.astype(kind + ("1" if length == "hh" else "2")) if "h" in length else words


def _field(directive: re.Match[str]) -> Callable[[int | float], str]:
    """How one word is written."""
    flags, specifier = directive["flags"], directive["specifier"]
    width = min(int(directive["width"] or 0), _MOST_CHARACTERS)
    precision = directive["precision"]
    digits = None if precision is None else min(int(precision or 0), _MOST_CHARACTERS)
    integer = specifier in _INTEGER_SPECIFIERS

    def write(value: int | float) -> str:
        if integer:
            sign, prefix, body = _integer(int(value), specifier, digits, "#" in flags)
            padded = digits is None
        else:
            sign, prefix, body = _float(float(value), specifier, digits, "#" in flags)
            padded = bool(np.isfinite(value))
        if not sign and specifier not in "uoxX":
            sign = "+" if "+" in flags else " " if " " in flags else ""
        if "-" in flags:
            return (sign + prefix + body).ljust(width)
        if "0" in flags and padded:
            return sign + prefix + body.rjust(width - len(sign) - len(prefix), "0")
        return (sign + prefix + body).rjust(width)

    return write


def _integer(value: int, specifier: str, digits: int | None, alternate: bool) -> tuple[str, str, str]:
    """Sign, prefix and digits of an integer."""
    body = format(abs(value), {"o": "o", "x": "x", "X": "X"}.get(specifier, "d"))
    if digits is not None:
        body = "" if digits == 0 and value == 0 else body.rjust(digits, "0")
    prefix = ""
    if alternate and specifier == "o" and not body.startswith("0"):
        body = "0" + body
    elif alternate and specifier in "xX" and value:
        prefix = "0" + specifier
    return "-" if value < 0 else "", prefix, body


def _float(value: float, specifier: str, digits: int | None, alternate: bool) -> tuple[str, str, str]:
    """Sign, prefix and digits of a double; a NaN has no sign."""
    sign = "-" if np.signbit(value) and value == value else ""
    magnitude = abs(value)
    if specifier in "aA" and np.isfinite(value):
        body = _hexadecimal(magnitude, digits, alternate)
        return (sign, "0X", body.upper()) if specifier == "A" else (sign, "0x", body)
    if not np.isfinite(value):
        body = "nan" if value != value else "inf"
        return sign, "", body.upper() if specifier.isupper() else body
    return sign, "", f"%{'#' if alternate else ''}.{6 if digits is None else digits}{specifier}" % magnitude


def _hexadecimal(magnitude: float, digits: int | None, alternate: bool) -> str:
    """A finite double of no sign as C's %a writes it, less the 0x: as few digits as are exact, or so many."""
    bits = int(np.float64(magnitude).view(np.uint64))
    exponent, fraction = bits >> 52, bits & ((1 << 52) - 1)
    significand = fraction | (1 << 52 if exponent else 0)
    power = max(exponent, 1) - 1023 if bits else 0
    if digits is None:
        text = f"{significand & ((1 << 52) - 1):013x}".rstrip("0")
    else:
        if digits < 13:
            drop = 4 * (13 - digits)
            kept, rest, half = significand >> drop, significand & ((1 << drop) - 1), 1 << (drop - 1)
            significand = (kept + (rest > half or (rest == half and kept & 1 == 1))) << drop
        text = f"{significand & ((1 << 52) - 1):013x}"[:digits].ljust(digits, "0")
    point = "." if text or alternate else ""
    return f"{significand >> 52:x}{point}{text}p{power:+d}"
