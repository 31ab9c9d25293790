"""The tiles that all blocks touch, counted out one by one: for blocks that are shuffled over the tiles of an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ir_passes.symbolic.conditions import All, Condition, both, symbols
from ir_passes.symbolic.counted import Cases, is_countable, with_facts
from ir_passes.symbolic.places import Place
from ir_passes.symbolic.terms import ZERO, Poly, Symbol, UndeterminedError


@dataclass(frozen=True, eq=False)
class Tiles:
    """The tiles that an access touches, or may touch: a row of indices, a block and a case for each.

    `sizes` are the tile's lengths, `blocks` the linear ids, `is_exact` tells whether every lane of each is touched
    that lies in the array.
    """

    cases: Cases
    at: np.ndarray
    index: np.ndarray
    blocks: np.ndarray
    sizes: tuple[int, ...]
    is_exact: bool

    def numbers(self, row: int) -> dict[Symbol, int]:
        """The numbers for which the tile of that row is touched."""
        return self.cases.numbers(np.unravel_index(int(self.at[row]), self.cases.shape))


def tiles_of(place: Place, coordinates: Sequence[Poly], blocks: Sequence[Symbol]) -> Tiles | None:
    """The tiles of an access, where its indices are multiples of the tile's size plus a lane, and few enough."""
    firsts, sizes = [], []
    for coordinate in coordinates:
        lanes = Poly({m: c for m, c in coordinate.terms.items() if any(_is_lane(s) for s in symbols(Poly({m: 1})))})
        size = _run_length(lanes)
        first = coordinate - lanes
        if size is None or any(c % size for c in first.terms.values()):
            return None
        firsts.append(Poly({m: c // size for m, c in first.terms.items()}))
        sizes.append(size)
    path = _without_lanes(place.event.path)
    free = with_facts(both(path), *firsts)
    free += [b for b in blocks if b not in free]
    if not is_countable(free):
        return None
    cases = Cases(free)
    try:
        happens = np.broadcast_to(cases.holds(path) & cases.allowed(), cases.shape).ravel()
        (at,) = np.nonzero(happens)
        values = [cases.values(f) for f in firsts]
        if np.broadcast_to(cases.undefined, cases.shape).ravel()[at].any():
            return None
        index = np.stack([np.broadcast_to(v, cases.shape).ravel()[at] for v in values])
        linear = np.zeros((1,) * len(free), np.int64)
        for block in blocks:
            linear = linear * (int(block.high) + 1) + cases.values(Poly.of(block))
    except UndeterminedError:
        return None
    is_exact = path == place.event.path and bool(place.dimensions) and place.is_whole_root
    return Tiles(cases, at, index, np.broadcast_to(linear, cases.shape).ravel()[at], tuple(sizes), is_exact)


def _is_lane(symbol: Symbol) -> bool:
    return symbol.kind == "lane"


def _run_length(lanes: Poly) -> int | None:
    """How many elements one after the other the lanes are; None where they are anything else."""
    if lanes == ZERO:
        return 1
    return next((int(s.high) + 1 for s in symbols(lanes) if _is_lane(s) and lanes == Poly.of(s)), None)


def _without_lanes(path: Condition) -> Condition:
    """What the path says of the block and its turns; it may leave out what depends on lanes or data."""
    parts = path.parts if isinstance(path, All) else (path,)
    return both(*(p for p in parts if not any(_is_lane(s) or s.is_unknown for s in symbols(p))))


def meeting(first: Tiles, second: Tiles) -> tuple[int, int] | None:
    """A row of each, of different blocks, with the same tile; None where there is none."""
    if not first.at.size or not second.at.size:
        return None
    here, there = _keys(first.index, second.index)
    ends = _ends(here, first.blocks), _ends(there, second.blocks)
    (mine, least, most), (others, other_least, other_most) = ends
    common, at, other_at = np.intersect1d(mine, others, assume_unique=True, return_indices=True)
    # The blocks of one tile are the same one on both sides, or two of them differ: the least and the most do.
    for a, b in ((least[at], other_most[other_at]), (most[at], other_least[other_at])):
        (apart,) = np.nonzero(first.blocks[a] != second.blocks[b])
        if common.size and apart.size:
            return int(a[apart[0]]), int(b[apart[0]])
    return None


def _keys(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number for each tile, the same for the same in both."""
    both_ = np.concatenate([first, second], axis=1)
    _, keys = np.unique(both_, axis=1, return_inverse=True)
    keys = keys.ravel()
    return keys[: first.shape[1]], keys[first.shape[1] :]


def _ends(keys: np.ndarray, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each key once, with the rows of its least and of its last block."""
    order = np.lexsort((blocks, keys))
    found, starts = np.unique(keys[order], return_index=True)
    ends = np.append(starts[1:], keys.size) - 1
    return found, order[starts], order[ends]


def tile_count(tiles: Tiles, shape: Sequence[int]) -> int:
    """How many different tiles of an array of that shape are touched."""
    inside = np.ones(tiles.at.size, bool)
    for index, size, length in zip(tiles.index, tiles.sizes, shape, strict=True):
        inside &= (index >= 0) & (index < -(-length // size))
    return int(np.unique(tiles.index[:, inside], axis=1).shape[1])
