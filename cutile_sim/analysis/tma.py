"""Which accesses may use the tensor memory accelerator (TMA) of a GPU, by the rules that NVIDIA publishes."""

from __future__ import annotations

from dataclasses import dataclass

from cutile_sim.traces.model import ArrayInfo, OpInfo
from cutile_sim.traces.record import Access

SOURCE = "CUDA driver API, cuTensorMapEncodeTiled"
MAX_RANK = 5
ALIGNMENT_BYTES = 16
MAX_BOX = 256
MAX_DIM = 2**32
MAX_STRIDE_BYTES = 2**40
ITEM_BYTES = (1, 2, 4, 8)


@dataclass(frozen=True)
class TmaRule:
    """Whether an operation's accesses to one array may use TMA.

    Attributes:
        op: The operation's number.
        array: The array's name.
        file, line: Where the operation is in the source; "" and 0 where that is unknown.
        may: Whether nothing of what the trace knows forbids it. Whether the compiler does it is another matter.
        reasons: Why not.
        copies: Into how many copies of at most 256 elements along each axis a tile falls; 0 where it may not.
    """

    op: int
    array: str
    file: str
    line: int
    may: bool
    reasons: tuple[str, ...]
    copies: int


def tma_rule(op: OpInfo, access: Access) -> TmaRule:
    """Judge an operation by one of its accesses.

    The rules are those of a tensor map without interleaving (CUDA driver API, cuTensorMapEncodeTiled): rank 1 to 5,
    contiguous along the innermost axis, all other strides multiples of 16 bytes and below 2^40, at most 2^32 elements
    along an axis, boxes of at most 256 elements along an axis and of a multiple of 16 bytes along the innermost,
    element types of 1, 2, 4 or 8 bytes. The array must start at a multiple of 16 bytes, which the trace does not know:
    allocations do, slices need not.
    """
    reasons = _not_a_tile(op, access) or [*_of_array(access.array), *_of_tile(op, access)]
    copies = 0
    if not reasons and op.tile is not None:
        copies = 1
        for n in op.tile[0]:
            copies *= -(-n // MAX_BOX)
    return TmaRule(op.number, access.array.name, *op.file_and_line, not reasons, tuple(reasons), copies)


def _not_a_tile(op: OpInfo, access: Access) -> list[str]:
    if op.kind == "atomic":
        return ["it is an atomic update"]
    if "view" not in op.operands:
        return ["its lanes are gathered or scattered, not a tile of an array"]
    if not access.is_window:
        return ["the tile's lanes do not lie evenly in the array"]
    return []


def _of_array(array: ArrayInfo) -> list[str]:
    found = []
    rank, item = len(array.shape), array.item_bytes
    if not 1 <= rank <= MAX_RANK:
        found.append(f"the array has {rank} axes, not 1 to {MAX_RANK}")
    if item not in ITEM_BYTES:
        found.append(f"elements of {item} bytes")
    if any(not 0 < n <= MAX_DIM for n in array.shape):
        found.append(f"an axis of {max(array.shape)} elements, not 1 to 2^32")
    longer = [
        (axis, s * item) for axis, (n, s) in enumerate(zip(array.shape, array.strides_elems, strict=True)) if n > 1
    ]
    inner = next((axis for axis, s in longer if s == item), None)
    if longer and inner is None:
        found.append("no axis is contiguous")
    for axis, stride_bytes in longer:
        if axis != inner and stride_bytes % ALIGNMENT_BYTES:
            found.append(f"axis {axis} has a stride of {stride_bytes} bytes, not a multiple of {ALIGNMENT_BYTES}")
        elif axis != inner and stride_bytes >= MAX_STRIDE_BYTES:
            found.append(f"axis {axis} has a stride of {stride_bytes} bytes, not below 2^40")
    return found


def _of_tile(op: OpInfo, access: Access) -> list[str]:
    assert op.tile is not None and access.strides is not None
    shape, _ = op.tile
    # An axis of the tile that was cut to one element by the array's end has no step; the others tell.
    inner = [n for n, step in zip(shape, access.strides[3:], strict=True) if step == 1] or [1]
    inner_bytes = max(inner) * access.array.item_bytes
    if inner_bytes % ALIGNMENT_BYTES:
        return [f"the tile has {inner_bytes} bytes along the contiguous axis, not a multiple of {ALIGNMENT_BYTES}"]
    return []
