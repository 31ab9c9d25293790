"""The pool of constants: raw bytes in the file, NumPy arrays in the element type's carrier for the rest of
the package.

A constant is a splat (the bytes of one element) or all elements in row-major order. Each element takes
whole bytes, except that i1 is packed eight to a byte when it is no splat; a splat of i1 is the byte 0x00 or
0xff. A tf32 takes three bytes.
"""

from __future__ import annotations

from math import prod

import numpy as np

from cutile_sim.dtypes import F4E2M1FN, F8E5M3FNU, I1, I4, TF32, ElementType
from cutile_sim.tileir.reader import Reader
from cutile_sim.tileir.types import TileType, Type

_TF32_FRACTION_GAP = 13


def _f8e5m3fnu_values() -> np.ndarray:
    codes = np.arange(256)
    exponent, fraction = codes >> 3, (codes & 7).astype(np.float32)
    normal = np.ldexp(1 + fraction / 8, exponent - 15)
    values = np.where(exponent == 0, np.ldexp(fraction / 8, -14), normal).astype(np.float32)
    values[255] = np.nan
    return values


_F8E5M3FNU_VALUES = _f8e5m3fnu_values()


def file_size_bytes(element: ElementType) -> int:
    """Bytes one element takes in the constant pool."""
    return 3 if element is TF32 else (element.width_bits + 7) // 8


def is_splat(raw: bytes, element: ElementType) -> bool:
    """Whether these are the bytes of one element that fills the whole tile."""
    if element is I1:
        return raw in (b"\x00", b"\xff")
    return len(raw) == file_size_bytes(element)


def carried(raw: bytes, element: ElementType) -> np.ndarray:
    """Elements of the pool (any type but packed i1) as a flat array of the element type's carrier."""
    if element is TF32:
        bits = np.zeros((len(raw) // 3, 4), np.uint8)
        bits[:, :3] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        return (bits.view("<u4").ravel() << _TF32_FRACTION_GAP).view(np.float32)
    if element is I4:
        low = np.frombuffer(raw, np.int8)
        return (low << 4) >> 4
    if element is F8E5M3FNU:
        return _F8E5M3FNU_VALUES[np.frombuffer(raw, np.uint8)]
    if element is F4E2M1FN:
        raw = bytes(code & 0xF for code in raw)
    return np.frombuffer(raw, element.storage.newbyteorder("<")).astype(element.carrier)


def float_from_bits(bits: int, element: ElementType) -> float:
    """The value of a float of that type with those bits. A NaN loses its payload."""
    return float(carried(bits.to_bytes(file_size_bytes(element), "little"), element)[0])


def constant_data(raw: bytes, element: ElementType, shape: tuple[int, ...], reader: Reader) -> np.ndarray:
    """A constant as an array of the carrier: shape () for a splat, `shape` otherwise."""
    if element is I1:
        if is_splat(raw, element):
            return np.array(raw != b"\x00")
        if len(raw) != (prod(shape) + 7) // 8:
            raise reader.fail(f"a constant of type {TileType(element, shape)} has {len(raw)} bytes")
        bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=prod(shape), bitorder="little")
        return bits.astype(np.bool_).reshape(shape)
    if is_splat(raw, element):
        return carried(raw, element).reshape(())
    if len(raw) != file_size_bytes(element) * prod(shape):
        raise reader.fail(f"a constant of type {TileType(element, shape)} has {len(raw)} bytes")
    return carried(raw, element).reshape(shape)


class ConstantPool:
    """The constants of a file by number; each is turned into an array once for each element type that reads
    it.
    """

    def __init__(self, reader: Reader | None, bounds: list[tuple[int, int]]) -> None:
        self._raw: list[bytes] = []
        self._arrays: dict[tuple[int, ElementType], np.ndarray] = {}
        for start, end in bounds:
            assert reader is not None
            item = reader.part(start, end)
            self._raw.append(item.take(item.varint()))
            item.finish()

    def raw(self, number: int, reader: Reader) -> bytes:
        """The bytes of a constant. Raises DecodeError where there is none of that number."""
        if number >= len(self._raw):
            raise reader.fail(f"constant {number} does not exist: there are {len(self._raw)}")
        return self._raw[number]

    def array(self, number: int, kind: Type, reader: Reader) -> np.ndarray:
        """A constant read as a tile of that type: read-only, in the carrier, shape () where it is a splat."""
        raw = self.raw(number, reader)
        if not isinstance(kind, TileType) or not isinstance(kind.element, ElementType):
            raise reader.fail(f"a constant cannot be of type {kind}")
        known = self._arrays.get((number, kind.element))
        if known is None or (known.ndim and known.size != prod(kind.shape)):
            known = constant_data(raw, kind.element, kind.shape, reader)
            known.flags.writeable = False
            self._arrays[number, kind.element] = known
        return known.reshape(kind.shape) if known.ndim else known
