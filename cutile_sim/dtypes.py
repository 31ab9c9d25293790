"""Element types of Tile IR: how wide, how stored in memory, how carried while a kernel runs, how rounded.

Two NumPy types belong to each element type. `storage` is what an array in memory holds. `carrier` is what
tile values hold inside the engine: integers in their own width and signed, i1 as bool, float32 and float64 as
they are, and every narrower float in float32, which holds all its values exactly. A narrow value is converted
only at loads, stores and bitcasts, and rounded back onto its grid after each operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class FloatFormat:
    """The grid of a binary floating-point type.

    `precision` counts significand bits with the hidden one; `min_exponent` is that of the smallest normal number
    (as 1.f * 2**e); `specials` says what the top of the range encodes.
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
    storage: np.dtype
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

    @property
    def size_bytes(self) -> int:
        """Bytes one element takes in memory."""
        return self.storage.itemsize


def _int(name: str, width_bits: int, storage: object, carrier: object) -> ElementType:
    return ElementType(name, "int", width_bits, np.dtype(storage), np.dtype(carrier))  # type: ignore[call-overload]


def _float(name: str, width_bits: int, storage: object, fmt: FloatFormat) -> ElementType:
    carrier = np.float64 if width_bits == 64 else np.float32
    return ElementType(name, "float", width_bits, np.dtype(storage), np.dtype(carrier), fmt)  # type: ignore[call-overload]


I1 = _int("i1", 1, np.bool_, np.bool_)
I4 = _int("i4", 4, ml_dtypes.int4, np.int8)
I8 = _int("i8", 8, np.int8, np.int8)
I16 = _int("i16", 16, np.int16, np.int16)
I32 = _int("i32", 32, np.int32, np.int32)
I64 = _int("i64", 64, np.int64, np.int64)
F16 = _float("f16", 16, np.float16, FloatFormat(11, -14, 15, "ieee"))
BF16 = _float("bf16", 16, ml_dtypes.bfloat16, FloatFormat(8, -126, 127, "ieee"))
F32 = _float("f32", 32, np.float32, FloatFormat(24, -126, 127, "ieee"))
TF32 = _float("tf32", 32, np.float32, FloatFormat(11, -126, 127, "ieee"))
F64 = _float("f64", 64, np.float64, FloatFormat(53, -1022, 1023, "ieee"))
F8E4M3FN = _float("f8E4M3FN", 8, ml_dtypes.float8_e4m3fn, FloatFormat(4, -6, 8, "nan_only"))
F8E5M2 = _float("f8E5M2", 8, ml_dtypes.float8_e5m2, FloatFormat(3, -14, 15, "ieee"))
F8E8M0FNU = _float(
    "f8E8M0FNU", 8, ml_dtypes.float8_e8m0fnu, FloatFormat(1, -127, 127, "nan_only", signed=False, has_zero=False)
)
F8E5M3FNU = _float("f8E5M3FNU", 8, np.uint8, FloatFormat(4, -14, 16, "nan_only", signed=False))
F4E2M1FN = _float("f4E2M1FN", 4, ml_dtypes.float4_e2m1fn, FloatFormat(2, 0, 2, "none"))

ELEMENT_TYPES: dict[str, ElementType] = {
    t.name: t
    for t in (
        I1, I4, I8, I16, I32, I64, F16, BF16, F32, TF32, F64, F8E4M3FN, F8E5M2, F8E8M0FNU, F8E5M3FNU, F4E2M1FN,
    )
}  # fmt: skip


def element_type(name: str) -> ElementType:
    """The element type of that name, as Tile IR prints it. Raises KeyError for any other."""
    return ELEMENT_TYPES[name]
