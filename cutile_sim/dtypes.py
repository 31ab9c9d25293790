"""Element types of Tile IR: how wide, how stored in memory, how carried while a kernel runs, how rounded.

Two NumPy types belong to each element type. `storage` is what an array in memory holds. `carrier` is what
tile values hold inside the engine: integers in their own width and signed, i1 as bool, float32 and float64 as
they are, and every narrower float in float32, which holds all its values exactly. A narrow value is converted
only at loads, stores and bitcasts, and rounded back onto its grid after each operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np


@cache
def numpy_dtype(name: str) -> np.dtype:
    """The type of that name of NumPy's own, or else of ml_dtypes. Raises AttributeError for any other name.

    ml_dtypes is loaded with the first of its types: with its release 0.7.0 that takes more than a second.
    """
    own = getattr(np, name, None)
    if own is None:
        import ml_dtypes

        own = getattr(ml_dtypes, name)
    return np.dtype(own)


@dataclass(frozen=True)
class FloatFormat:
    """The grid of a binary floating-point type.

    `precision` counts significand bits with the hidden one; `min_exponent` is that of the smallest normal
    number (as 1.f * 2**e); `specials` says what the top of the range encodes.
    """

    precision: int
    min_exponent: int
    max_exponent: int
    specials: Literal["ieee", "nan_only", "none"]
    signed: bool = True
    has_zero: bool = True


@dataclass(frozen=True, eq=False)
class ElementType:
    """One element type of Tile IR. Compare by identity: there is one object a type."""

    name: str
    kind: Literal["int", "float"]
    width_bits: int
    storage_name: str
    carrier: np.dtype
    format: FloatFormat | None = None

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return (element_type, (self.name,))

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind == "int"

    @property
    def is_narrow(self) -> bool:
        """Carried in float32 though it is narrower."""
        return self.kind == "float" and self.width_bits < 32

    @cached_property
    def storage(self) -> np.dtype:
        """What an array in memory holds."""
        return numpy_dtype(self.storage_name)

    @cached_property
    def size_bytes(self) -> int:
        """Bytes one element takes in memory."""
        return max(1, self.width_bits // 8)


def _int(name: str, width_bits: int, storage: str, carrier: object) -> ElementType:
    return ElementType(name, "int", width_bits, storage, np.dtype(carrier))  # type: ignore[call-overload]


def _float(name: str, width_bits: int, storage: str, fmt: FloatFormat) -> ElementType:
    carrier = np.float64 if width_bits == 64 else np.float32
    return ElementType(name, "float", width_bits, storage, np.dtype(carrier), fmt)


I1 = _int("i1", 1, "bool_", np.bool_)
I4 = _int("i4", 4, "int4", np.int8)
I8 = _int("i8", 8, "int8", np.int8)
I16 = _int("i16", 16, "int16", np.int16)
I32 = _int("i32", 32, "int32", np.int32)
I64 = _int("i64", 64, "int64", np.int64)
F16 = _float("f16", 16, "float16", FloatFormat(11, -14, 15, "ieee"))
BF16 = _float("bf16", 16, "bfloat16", FloatFormat(8, -126, 127, "ieee"))
F32 = _float("f32", 32, "float32", FloatFormat(24, -126, 127, "ieee"))
TF32 = _float("tf32", 32, "float32", FloatFormat(11, -126, 127, "ieee"))
F64 = _float("f64", 64, "float64", FloatFormat(53, -1022, 1023, "ieee"))
F8E4M3FN = _float("f8E4M3FN", 8, "float8_e4m3fn", FloatFormat(4, -6, 8, "nan_only"))
F8E5M2 = _float("f8E5M2", 8, "float8_e5m2", FloatFormat(3, -14, 15, "ieee"))
F8E8M0FNU = _float(
    "f8E8M0FNU",
    8,
    "float8_e8m0fnu",
    FloatFormat(1, -127, 127, "nan_only", signed=False, has_zero=False),
)
F8E5M3FNU = _float("f8E5M3FNU", 8, "uint8", FloatFormat(4, -14, 16, "nan_only", signed=False))
F4E2M1FN = _float("f4E2M1FN", 4, "float4_e2m1fn", FloatFormat(2, 0, 2, "none"))

ELEMENT_TYPES: dict[str, ElementType] = {
    t.name: t
    for t in (
        I1, I4, I8, I16, I32, I64, F16, BF16, F32, TF32, F64,
        F8E4M3FN, F8E5M2, F8E8M0FNU, F8E5M3FNU, F4E2M1FN,
    )
}  # fmt: skip


def element_type(name: str) -> ElementType:
    """The element type of that name, as Tile IR prints it. Raises KeyError for any other."""
    return ELEMENT_TYPES[name]


# From this many elements on, passes over the bits of a float16 beat NumPy's own conversion of it (measured).
_MANY = 2048


@cache
def _code_values(name: str) -> np.ndarray:
    """The value of each of the 256 bytes as an element of an 8-bit or 4-bit float; of 4 bits the upper half
    is ignored.
    """
    codes = np.arange(256, dtype=np.uint8)
    if name == F8E5M3FNU.name:
        exponents, fractions = (codes >> 3).astype(np.int32), (codes & 7).astype(np.float32)
        values = np.ldexp(fractions + np.where(exponents > 0, 8, 0), np.maximum(exponents, 1) - 18)
        values[255] = np.nan
        return values.astype(np.float32)
    element = ELEMENT_TYPES[name]
    if element.width_bits == 4:
        codes &= 15
    values = codes.view(element.storage).astype(np.float32)
    if element is F8E5M2:
        # Its NaNs keep their two fraction bits, so that moving bytes about does not change them.
        nan = np.isnan(values)
        bits = codes[nan].astype(np.uint32)
        values[nan] = ((bits >> 7 << 31) | 0x7F800000 | (bits & 3) << 21).view(np.float32)
    return values


@cache
def _value_codes(name: str) -> np.ndarray:
    """The byte of each value of an 8-bit or 4-bit float, by the upper 16 bits of that value as a float32:
    they tell all apart.
    """
    values = _code_values(name)
    finite = ~np.isnan(values)
    upper = np.arange(65536, dtype=np.uint32) << 16
    nan = np.isnan(upper.view(np.float32))
    codes = np.zeros(65536, np.uint8)
    if not finite.all():
        nan_codes = np.flatnonzero(~finite)
        codes[nan] = nan_codes[0]
        if nan_codes[-1] & 0x80 and nan_codes[0] < 0x80:
            codes[nan & (upper >> 31 == 1)] = nan_codes[nan_codes >= 0x80][0]
    distinct = 16 if ELEMENT_TYPES[name].width_bits == 4 else 256
    known = np.arange(distinct) if name == F8E5M2.name else np.flatnonzero(finite[:distinct])
    codes[values[known].view(np.uint32) >> 16] = known
    return codes


def _float16_to_float32(stored: np.ndarray) -> np.ndarray:
    if stored.size < _MANY:
        return _with_nan_bits(stored.astype(np.float32), stored)
    # The exponent field is moved into place and rebiased by an exact product, which makes subnormals normal
    # too.
    bits = stored.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= -0x70002000
    values = bits.view(np.float32)
    values *= np.float32(2.0**112)
    if values.max() >= 65536 or values.min() <= -65536:  # infinities and NaNs came out as numbers
        return _with_nan_bits(stored.astype(np.float32), stored)
    return values


def _with_nan_bits(values: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """Converted float16 values whose NaNs keep all fraction bits: a CPU's conversion would quiet them."""
    nan = np.isnan(stored)
    if nan.any():
        bits = stored[nan].view(np.uint16).astype(np.uint32)
        values[nan] = ((bits >> 15 << 31) | 0x7F800000 | (bits & 0x3FF) << 13).view(np.float32)
    return values


def _float32_to_float16_bits(values: np.ndarray) -> np.ndarray:
    if values.size < _MANY:
        narrow = values.astype(np.float16).view(np.uint16)
        nan = np.isnan(values)
        return _nan_bits(narrow, values, nan) if nan.any() else narrow
    wide = (values * np.float32(2.0**-112)).view(np.int32)
    bits = wide >> 13
    bits &= 0x7FFF
    has_nan = int(bits.max()) > 0x7C00
    wide >>= 16
    wide &= -0x8000
    bits |= wide
    narrow = bits.astype(np.uint16)
    return _nan_bits(narrow, values, np.isnan(values)) if has_nan else narrow


def _nan_bits(bits: np.ndarray, values: np.ndarray, nan: np.ndarray) -> np.ndarray:
    """Bits of float16 whose NaNs are cut from the float32 ones, and stay NaNs."""
    wide = values[nan].view(np.uint32)
    fraction = wide >> 13 & 0x3FF
    bits[nan] = (wide >> 31 << 15) | 0x7C00 | np.where(fraction == 0, 0x200, fraction)
    return bits


def to_carrier(stored: np.ndarray, element: ElementType) -> np.ndarray:
    """Values in their memory type, as the engine carries them: any shape; the same array where the two types
    agree.
    """
    if element.storage == element.carrier:
        return stored
    if element is F16:
        return _float16_to_float32(stored)
    if element is BF16:
        return stored.astype(np.float32)
    if element is I4:
        return stored.astype(np.int8)
    return np.take(_code_values(element.name), stored.view(np.uint8), mode="clip")


def to_bits(values: np.ndarray, element: ElementType) -> np.ndarray:
    """The bits of carried values as unsigned integers of the element's width; 1 and 4 bits lie in uint8.

    Floats must lie on the element's grid (`rounding.round_to` puts them there).
    """
    if element is I1:
        return values.view(np.uint8)
    if element is I4:
        return values.view(np.uint8) & np.uint8(15)
    if not element.is_narrow:
        return values.view(f"u{element.carrier.itemsize}")
    if element is F16:
        return _float32_to_float16_bits(values)
    upper = values.view(np.uint32) >> 16
    if element is BF16:
        return upper.astype(np.uint16)
    return np.take(_value_codes(element.name), upper, mode="clip")


def from_bits(bits: np.ndarray, element: ElementType) -> np.ndarray:
    """Carried values from the bits `to_bits` gives. Of i1 and the 4-bit types only the low bits count."""
    if element is I1:
        return (bits & 1).astype(np.bool_)
    if element is I4:
        return (bits << 4).view(np.int8) >> 4
    if not element.is_narrow:
        return bits.view(element.carrier)
    if element is F16 or element is BF16:
        return to_carrier(bits.view(element.storage), element)
    return np.take(_code_values(element.name), bits, mode="clip")


def to_storage(values: np.ndarray, element: ElementType) -> np.ndarray:
    """Carried values in the element's memory type: any shape; the same array where the two types agree."""
    if element.storage == element.carrier:
        return values
    if element is I4:
        return values.astype(element.storage)
    return to_bits(values, element).view(element.storage)
