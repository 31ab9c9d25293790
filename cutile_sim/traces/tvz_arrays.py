"""Arrays as TileLens sees them.

It counts an offset as one into an array that lies row by row, whatever the array's strides. So arrays are written that
way, and offsets count in them. Types whose size it does not know become wider ones, and numbers that are not finite
become 0: its page cannot read them.
"""

from __future__ import annotations

from math import prod

import numpy as np

from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import Access, of_block

FIRST_ADDRESS = 1 << 20
_SHOWN = {
    "bool": np.bool_, "int8": np.int8, "uint8": np.uint8, "int32": np.int32, "int64": np.int64, "float16": np.float16,
    "bfloat16": np.float32, "float32": np.float32, "float64": np.float64,
}  # fmt: skip
"""Types whose size TileLens knows, and the type in which their values are written."""
_WIDER = {"int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "float64"}


class PlacedArray:
    """An array row by row at an address, of a type whose size is known."""

    def __init__(self, info: ArrayInfo, address: int) -> None:
        self.info, self.address = info, address
        name = info.dtype.name
        self.type_name = name if name in _SHOWN else _WIDER.get(name, "float32")
        self.item_bytes = 2 if self.type_name == "bfloat16" else np.dtype(_SHOWN[self.type_name]).itemsize
        steps = [prod(info.shape[axis + 1 :]) for axis in range(len(info.shape))]
        self._steps = np.array(steps, np.int64)
        self._is_dense = all(n == 1 or s == t for n, s, t in zip(info.shape, info.strides_elems, steps, strict=True))

    def values(self, contents: np.ndarray) -> np.ndarray:
        """Contents of the array in the type in which they are written."""
        return contents.astype(_SHOWN[self.type_name])

    def offsets(self, elements: np.ndarray) -> np.ndarray:
        """Byte offsets of elements that are counted in memory; where the array has none, before its first."""
        if not self._is_dense:
            index, inside = self.info.index_of(elements)
            elements = np.where(inside, index @ self._steps, -1)
        return elements * self.item_bytes


def placed_arrays(launch: LaunchTrace) -> dict[int, PlacedArray]:
    """The array arguments by number, at addresses of their own."""
    found, address = {}, FIRST_ADDRESS
    for info in launch.arrays:
        if info.is_argument:
            found[info.number] = PlacedArray(info, address)
            address += -(-max(info.size, 1) * 8 // FIRST_ADDRESS) * FIRST_ADDRESS
    return found


def put_lanes(access: Access, which: int, array: PlacedArray, offsets: np.ndarray, mask: np.ndarray) -> None:
    """One block's lanes into the tile's offsets and mask. What is cut off at an array's end are a tile's last lanes."""
    part = tuple(slice(0, n) for n in access.tile_shape)
    touched = access.elements(which)
    if access.is_window or access.mask is None:
        offsets[part] = array.offsets(touched)
        mask[part] = True
    else:
        lanes = of_block(access.mask, which, access.group)
        offsets[lanes] = array.offsets(touched)
        mask |= lanes


def matrices(operand: np.ndarray) -> list[np.ndarray]:
    """The matrices of an operand of a product, of which there are several in a batch, in types that sum well."""
    kind = np.float64 if operand.dtype == np.float64 else np.int32 if operand.dtype.kind in "iub" else np.float32
    return list(operand.astype(kind).reshape(-1, *operand.shape[-2:]))


def finite(values: np.ndarray) -> tuple[np.ndarray, int]:
    """(values with 0 for those that are not finite, how many those were)."""
    if values.dtype.kind != "f":
        return values, 0
    bad = ~np.isfinite(values)
    count = int(bad.sum())
    return (np.where(bad, values.dtype.type(0), values) if count else values), count
