"""Reductions and scans along one tile dimension, by any region.

A region that is one known operation is done by NumPy; any other is evaluated on whole slices. Floating-point results
depend on the order of combination, which Tile IR leaves open: reduce_order.py holds the one that an NVIDIA GPU uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.ops.integer import as_signedness, to_carrier_of
from cutile_sim.ops.reduce_order import reduction_order, scan_segment
from cutile_sim.ops.reduce_pick import Rule, pick
from cutile_sim.ops.registry import implements
from cutile_sim.optable.encoding import RoundingMode, Signedness
from cutile_sim.rounding import round_to
from cutile_sim.tileir.types import TileType, element_of

GRID_AXES = 3
_MANY_ROWS, _FEW_COLUMNS = 64, 32
"""From how many rows on, and when down to how many elements, rows of sums are turned into columns (measured)."""
_SHORT_ROW, _FEWEST_COLUMNS = 128, 16
"""Up to which length rows are turned into columns where the order does not matter, and when down to how many elements
(measured)."""
Tiles = tuple[np.ndarray, ...]
Combine = Callable[[Tiles, Tiles], Tiles]


class Body(Protocol):
    """What these functions need of the running group of blocks: the operation's region."""

    def run_body(self, *scalars: np.ndarray) -> Tiles:
        """The region's results for its arguments, given as arrays (gz, gy, gx, *rest) of rank-0 tiles."""

    def body_kind(self) -> str | None:
        """The mnemonic of the region's one operation on its two arguments, or None for any other region."""

    def body_rule(self, values: np.dtype, indices: np.dtype) -> Rule | None:
        """Which element the region picks of values with their indices, if that is all it does."""

    @property
    def body_attributes(self) -> Mapping[str, Any]:
        """The attributes of that one operation."""


_INTEGER_UFUNCS: dict[str, np.ufunc] = {
    "addi": np.add,
    "muli": np.multiply,
    "maxi": np.maximum,
    "mini": np.minimum,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
}
_FLOAT_UFUNCS: dict[str, np.ufunc] = {"addf": np.add, "mulf": np.multiply}


def _integer_ufunc(kind: str, values: np.ndarray) -> np.ufunc:
    # NumPy adds booleans by or; one bit wraps.
    return np.bitwise_xor if kind == "addi" and values.dtype == np.bool_ else _INTEGER_UFUNCS[kind]


def _reduce_integers(kind: str, values: np.ndarray, axis: int, signedness: Signedness) -> np.ndarray:
    work = as_signedness(values, signedness) if kind in ("maxi", "mini") else values
    return to_carrier_of(_in_any_order(_integer_ufunc(kind, work), work, axis), values)


def _in_any_order(ufunc: np.ufunc, values: np.ndarray, axis: int) -> np.ndarray:
    """The (negative) axis combined in whatever order is quick. NumPy spends its time between rows where they are short:
    these are folded in half until they are down to a few elements, which are then turned into columns.
    """
    length = values.shape[-1]
    if axis != -1 or not 1 < length <= _SHORT_ROW:
        return ufunc.reduce(values, axis=axis, dtype=values.dtype)
    lead = values.shape[:-1]
    while length > _FEWEST_COLUMNS:
        length //= 2
        values = ufunc(values[..., :length], values[..., length:])
    columns = np.ascontiguousarray(values.reshape(-1, length).T)
    return ufunc.reduce(columns, axis=0, dtype=values.dtype).reshape(lead)


def _reduce_extremes(kind: str, values: np.ndarray, axis: int, *, propagate_nan: bool) -> np.ndarray:
    ufunc: np.ufunc
    if propagate_nan:
        ufunc = np.maximum if kind == "maxf" else np.minimum
    else:
        ufunc = np.fmax if kind == "maxf" else np.fmin
    best = _in_any_order(ufunc, values, axis)
    if best.all():
        return best
    # NumPy takes either zero of two; the operation orders -0.0 below 0.0.
    negative = kind == "minf"
    found = ((values == 0) & (np.signbit(values) == negative)).any(axis=axis)
    zero = np.where(found != negative, 0.0, -0.0).astype(best.dtype)
    return np.where(best == 0, zero, best)


def _elementwise(kind: str | None, attributes: Mapping[str, Any], element: object) -> Combine | None:
    """The region as NumPy calls where it is one sum or product rounded to nearest, else None."""
    ufunc = _FLOAT_UFUNCS.get(kind or "")
    if ufunc is None or attributes["flush_to_zero"] or attributes["rounding_mode"] is not RoundingMode.NEAREST_EVEN:
        return None
    if isinstance(element, ElementType) and element.is_narrow:
        return lambda lhs, rhs: (round_to(ufunc(lhs[0], rhs[0]), element, RoundingMode.NEAREST_EVEN),)
    return lambda lhs, rhs: (ufunc(lhs[0], rhs[0]),)


def _region(cx: Body) -> Combine:
    """The region evaluated on arrays; its results get the shape that its arguments have beyond the grid axes."""

    def combine(lhs: Tiles, rhs: Tiles) -> Tiles:
        rest = np.broadcast_shapes(lhs[0].shape[GRID_AXES:], rhs[0].shape[GRID_AXES:])
        results = cx.run_body(*(argument for pair in zip(lhs, rhs, strict=True) for argument in pair))
        # A result that depends on no argument comes as a scalar a block.
        aligned = (r if r.ndim > GRID_AXES else r.reshape(r.shape + (1,) * len(rest)) for r in results)
        return tuple(np.broadcast_to(r, r.shape[:GRID_AXES] + rest) for r in aligned)

    return combine


def _fold(
    tiles: Tiles, axis: int, order: tuple[int, tuple[int, ...]], combine: Combine, *, keep: bool = False
) -> Tiles:
    """The (negative) axis combined into one and dropped, in the order of `reduction_order`; lower index left.

    `keep` leaves the axis, and on it what bits that are not in the order tell apart.
    """
    sequence_length, pair_bits = order
    if sequence_length > 1:
        parts = [_split(t, axis, (sequence_length, t.shape[axis] // sequence_length)) for t in tiles]
        tiles = tuple(_at(p, axis - 1, 0) for p in parts)
        for i in range(1, sequence_length):
            tiles = combine(tiles, tuple(_at(p, axis - 1, i) for p in parts))
    left = list(range((tiles[0].shape[axis] - 1).bit_length()))
    for bit in pair_bits:
        stride_elems = 1 << left.index(bit)
        left.remove(bit)
        pairs = [_split(t, axis, (-1, 2, stride_elems)) for t in tiles]
        tiles = combine(*(tuple(_at(p, axis - 1, side) for p in pairs) for side in (0, 1)))
        tiles = tuple(_merge(t, axis) for t in tiles)
    return tiles if keep else tuple(t.squeeze(axis) for t in tiles)


def _fold_rows(tiles: Tiles, order: tuple[int, tuple[int, ...]], combine: Combine) -> Tiles:
    """`_fold` along the last axis of many rows: when a row is down to a few elements, they are laid out column by
    column, so that NumPy's inner loops stay long.
    """
    sequence_length, pair_bits = order
    left = len(pair_bits)
    at_once = next((i for i in range(left) if 1 << (left - i) <= _FEW_COLUMNS), left)
    first, rest = pair_bits[:at_once], pair_bits[at_once:]
    lead = tiles[0].shape[:-1]
    few = _fold(tiles, -1, (sequence_length, first), combine, keep=True)
    columns = tuple(np.ascontiguousarray(t.reshape(-1, t.shape[-1]).T) for t in few)
    ranks = sorted(rest)
    folded = _fold(columns, -2, (1, tuple(ranks.index(bit) for bit in rest)), combine)
    return tuple(t.reshape(lead) for t in folded)


def _accumulate(tiles: Tiles, axis: int, combine: Combine) -> Tiles:
    """Running combination along the (negative) axis, one element after another."""
    length = tiles[0].shape[axis]
    running = [tuple(_slab(t, axis, slice(0, 1)) for t in tiles)]
    for i in range(1, length):
        running.append(combine(running[-1], tuple(_slab(t, axis, slice(i, i + 1)) for t in tiles)))
    return tuple(_join(parts, axis) for parts in zip(*running, strict=True))


def _prefixes(tiles: Tiles, axis: int, combine: Combine) -> Tiles:
    """Running combination along the (negative) axis, in log2(n) steps that each double the reach."""
    length, reach = tiles[0].shape[axis], 1
    while reach < length:
        earlier = tuple(_slab(t, axis, slice(0, length - reach)) for t in tiles)
        later = tuple(_slab(t, axis, slice(reach, length)) for t in tiles)
        done = tuple(_slab(t, axis, slice(0, reach)) for t in tiles)
        tiles = tuple(_join(parts, axis) for parts in zip(done, combine(earlier, later), strict=True))
        reach *= 2
    return tiles


def _at(values: np.ndarray, axis: int, index: int) -> np.ndarray:
    """One position of a (negative) axis, as a view without that axis."""
    return values[(..., index) + (slice(None),) * (-axis - 1)]


def _slab(values: np.ndarray, axis: int, part: slice) -> np.ndarray:
    """A part of a (negative) axis, as a view."""
    return values[(..., part) + (slice(None),) * (-axis - 1)]


def _join(parts: tuple[np.ndarray, ...], axis: int) -> np.ndarray:
    """Parts one after another along the (negative) axis; a captured scalar may have given later ones more grid axes."""
    grid = np.broadcast_shapes(*(p.shape[:GRID_AXES] for p in parts))
    return np.concatenate([np.broadcast_to(p, grid + p.shape[GRID_AXES:]) for p in parts], axis=axis)


def _split(values: np.ndarray, axis: int, sizes: tuple[int, ...]) -> np.ndarray:
    """The (negative) axis as several axes of these sizes."""
    at = values.ndim + axis
    return values.reshape(values.shape[:at] + sizes + values.shape[at + 1 :])


def _merge(values: np.ndarray, axis: int) -> np.ndarray:
    """The (negative) axis and the one before it as one."""
    at = values.ndim + axis
    return values.reshape(values.shape[: at - 1] + (-1,) + values.shape[at + 1 :])


@implements("reduce", ignores=("identities",))
def reduce(operands: Tiles, *, dim: int, operand_types: dict[str, tuple[TileType, ...]], cx: Body) -> Tiles:
    """All elements along tile dimension `dim` combined into one; the dimension goes.

    Shapes: operands (..., n, ...) all of one tile shape, results without the n.
    Numerics: integers, maxima and minima exact. A floating-point sum or product rounds after each step to the tile's
    own type, in the order of `reduction_order`. Any other region is evaluated in that order too, with the element of
    lower index on the left. The identities are not needed: a tile is never empty.
    """
    types = operand_types["operands"]
    shape = types[0].shape
    axis = dim - len(shape)
    kind = cx.body_kind()
    if kind in _INTEGER_UFUNCS:
        signedness = cx.body_attributes.get("signedness", Signedness.SIGNED)
        return (_reduce_integers(kind, operands[0], axis, signedness),)
    if kind in ("maxf", "minf") and not cx.body_attributes["flush_to_zero"]:
        return (_reduce_extremes(kind, operands[0], axis, propagate_nan=cx.body_attributes["propagate_nan"]),)
    if len(operands) == 2 and (rule := cx.body_rule(operands[0].dtype, operands[1].dtype)) is not None:
        picked = pick(*operands, axis, rule)
        if picked is not None:
            return picked
    element = element_of(types[0])
    order = reduction_order(shape, dim, element.size_bytes)
    combine = _elementwise(kind, cx.body_attributes, element)
    if combine is None:
        return _fold(operands, axis, order, _region(cx))
    many = axis == -1 and operands[0].size >= _MANY_ROWS * shape[-1] and operands[0].flags.c_contiguous
    results = _fold_rows(operands, order, combine) if many else _fold(operands, axis, order, combine)
    # A sequence starts from the identity: a sum of nothing but -0.0 is 0.0.
    return tuple(r + r.dtype.type(0) for r in results) if kind == "addf" and order[0] > 1 else results


@implements("scan", ignores=("identities",))
def scan(
    operands: Tiles, *, dim: int, reverse: bool, operand_types: dict[str, tuple[TileType, ...]], cx: Body
) -> Tiles:
    """Along tile dimension `dim`, each element combined with all before it (`reverse`: all after it); itself included.

    Shapes: results as operands.
    Numerics: as `reduce`, in the order of `scan_segment`; the prefix before is on the left.
    """
    types = operand_types["operands"]
    shape = types[0].shape
    axis = dim - len(shape)
    kind = cx.body_kind()
    if reverse:
        operands = tuple(np.flip(t, axis) for t in operands)
    if kind in ("addi", "muli", "andi", "ori", "xori"):
        ufunc = _integer_ufunc(kind, operands[0])
        results: Tiles = (ufunc.accumulate(operands[0], axis=axis, dtype=operands[0].dtype),)
    else:
        combine = _elementwise(kind, cx.body_attributes, element_of(types[0])) or _region(cx)
        results = _scan_segments(operands, axis, scan_segment(shape, dim), combine)
    return tuple(np.flip(t, axis) for t in results) if reverse else results


def _scan_segments(tiles: Tiles, axis: int, segment_elems: int, combine: Combine) -> Tiles:
    """Prefixes within each segment side by side, then each segment's last on to all of the next."""
    count = tiles[0].shape[axis] // segment_elems
    inner = _prefixes(tuple(_split(t, axis, (count, segment_elems)) for t in tiles), axis, combine)
    if count == 1:
        return tuple(_merge(t, axis) for t in inner)
    totals = _accumulate(
        tuple(_slab(t, axis, slice(segment_elems - 1, segment_elems)) for t in inner), axis - 1, combine
    )
    before = tuple(_slab(t, axis - 1, slice(0, count - 1)) for t in totals)
    if segment_elems == 1:
        return tuple(_merge(t, axis) for t in totals)
    first = tuple(_slab(t, axis - 1, slice(0, 1)) for t in inner)
    rest = combine(before, tuple(_slab(t, axis - 1, slice(1, count)) for t in inner))
    return tuple(_merge(_join(parts, axis - 1), axis) for parts in zip(first, rest, strict=True))
