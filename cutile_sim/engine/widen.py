"""Several turns of a loop at once, where it does nothing but add up matrix products of tiles it loads.

    for k: acc = mma(load(a, (i, k)), load(b, (k, j)), acc)

adds products over consecutive tiles along K. Loading those tiles as one, `factor` times as long, and multiplying once
gives the same sum in another order, which class R leaves open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cutile_sim.dtypes import ElementType
from cutile_sim.optable import OPS
from cutile_sim.tileir.core import Op, Region, Value
from cutile_sim.tileir.types import PartitionViewType, StridedViewType, TileType, TokenType, Type

TARGET_LENGTH = 256
"""About how long K should be for a matrix product at full speed (measured)."""

_ELEMENTWISE = frozenset({"ftof", "itof", "negf", "absf"})
Fresh = Callable[[Type, Value], Value]


def widen(loop: Op, makers: dict[Value, Op], fresh: Fresh) -> tuple[Op, list[Op], int] | None:
    """The loop taking several turns at once: (loop, operations to run before it, turns); None where it may not.

    `makers` finds the operation that made a value; `fresh` makes a new value in the place of another. The
    loop's step must be 1, and the new loop must be run with a step of that many turns, while as many are left.
    """
    region = loop.regions[0]
    counter, *carried = region.arguments
    *body, end = region.ops
    factor = _factor(body)
    if factor < 2 or end.name != "continue" or not carried:
        return None
    rewriter = _Rewriter(counter, factor, makers, fresh)
    rewriter.map = {v: fresh(v.type, v) for v in region.arguments}
    for op in body:
        if not rewriter.rewrite(op):
            return None
    if any(v in rewriter.long for v in end.inputs) or counter in end.inputs or not rewriter.products:
        return None
    if not _adds_up(body, carried, end):
        return None
    new_end = rewriter.renamed(end)
    arguments = tuple(rewriter.map[v] for v in region.arguments)
    wide = replace(loop, regions=(Region(arguments, (*rewriter.ops, new_end)),))
    return wide, rewriter.before, factor


def _factor(body: list[Op]) -> int:
    """How many turns to take at once: by the length of K of the first product."""
    for op in body:
        if op.name == "mmaf":
            kind = _operand(op, "lhs").type
            assert isinstance(kind, TileType)
            return max(1, TARGET_LENGTH // kind.shape[-1])
    return 1


def _operand(op: Op, name: str) -> Value:
    value = op.operands[name]
    assert isinstance(value, Value)
    return value


def _adds_up(body: list[Op], carried: list[Value], end: Op) -> bool:
    """Whether what each turn hands on is what it got plus products, and nothing else looks at it; or a token, which
    orders loads.
    """
    users: dict[Value, list[Op]] = {}
    for op in (*body, end):
        for value in op.inputs:
            users.setdefault(value, []).append(op)
    for start, handed_on in zip(carried, end.inputs, strict=True):
        if isinstance(start.type, TokenType):
            continue
        value = start
        while value is not handed_on:
            using = users.get(value, [])
            if len(using) != 1 or using[0].name != "mmaf" or _operand(using[0], "acc") is not value:
                return False
            value = using[0].results[0]
        if users.get(handed_on) != [end]:
            return False
    return True


class _Rewriter:
    """Rewrites a body operation by operation. `long` holds, for values that got longer, the dimension that did."""

    def __init__(self, counter: Value, factor: int, makers: dict[Value, Op], fresh: Fresh) -> None:
        self.counter = counter
        self.factor = factor
        self.makers = makers
        self.fresh = fresh
        self.map: dict[Value, Value] = {}
        self.long: dict[Value, int] = {}
        self.ops: list[Op] = []
        self.before: list[Op] = []
        self.products = 0

    def renamed(self, op: Op, results: tuple[Value, ...] = ()) -> Op:
        """The operation on the new values."""

        def one(value: Value | tuple[Value, ...] | None) -> Value | tuple[Value, ...] | None:
            if isinstance(value, tuple):
                return tuple(self.map.get(v, v) for v in value)
            return None if value is None else self.map.get(value, value)

        return replace(op, operands={n: one(v) for n, v in op.operands.items()}, results=results)

    def rewrite(self, op: Op) -> bool:
        """Append the operation, rewritten. False where it cannot take several turns at once."""
        if op.name == "load_view_tko" and self.counter in op.inputs:
            return self._load(op)
        if self.counter in op.inputs or op.regions or op.spec.effect not in ("pure", "order", "read"):
            return False
        longer = [v for v in op.inputs if v in self.long]
        if not longer:
            self._append(op, [v.type for v in op.results])
            return True
        if op.name == "mmaf":
            return self._product(op)
        (source,) = longer if len(longer) == 1 else (None,)
        if source is None or len(op.inputs) != 1:
            return False
        dim = self._follow(op, self.long[source])
        if dim is None:
            return False
        self._append(op, [_longer(op.results[0].type, dim, self.factor)])
        self.long[op.results[0]] = dim
        return True

    def _append(self, op: Op, types: list[Type]) -> None:
        results = tuple(self.fresh(t, v) for t, v in zip(types, op.results, strict=True))
        self.ops.append(self.renamed(op, results))
        self.map.update(zip(op.results, results, strict=True))

    def _follow(self, op: Op, dim: int) -> int | None:
        """Where the long dimension of the operand is in the result of an operation that moves or converts elements."""
        before, after = op.inputs[0].type, op.results[0].type
        assert isinstance(before, TileType) and isinstance(after, TileType)
        if op.name in _ELEMENTWISE:
            return dim
        if op.name == "permute":
            order: tuple[int, ...] = tuple(op.attributes["permutation"])
            return order.index(dim)
        if op.name == "reshape":
            # Dimensions of size 1 may come and go; the others must stay in their order.
            real_before = [i for i, n in enumerate(before.shape) if n > 1]
            real_after = [i for i, n in enumerate(after.shape) if n > 1]
            if [before.shape[i] for i in real_before] == [after.shape[i] for i in real_after] and dim in real_before:
                return real_after[real_before.index(dim)]
        return None

    def _load(self, op: Op) -> bool:
        index, view = op.operands["index"], _operand(op, "view")
        assert isinstance(index, tuple)
        kind, maker = view.type, self.makers.get(view)
        at = [i for i, v in enumerate(index) if v is self.counter]
        if len(at) != 1 or not isinstance(kind, PartitionViewType) or maker is None or any(op.attributes["inbounds"]):
            return False
        dim = at[0]
        shape = tuple(n * self.factor if i == dim else n for i, n in enumerate(kind.tile_shape))
        wide = StridedViewType(shape, kind.tile_shape, kind.tensor, kind.dim_map, kind.padding)
        wide_view = self.fresh(wide, view)
        self.before.append(
            replace(maker, spec=OPS["make_strided_view"], results=(wide_view,), operands=dict(maker.operands))
        )
        self._append(op, [_longer(op.results[0].type, dim, self.factor), op.results[1].type])
        self.ops[-1] = replace(self.ops[-1], operands={**self.ops[-1].operands, "view": wide_view})
        self.long[op.results[0]] = dim
        return True

    def _product(self, op: Op) -> bool:
        lhs, rhs, acc = (_operand(op, n) for n in ("lhs", "rhs", "acc"))
        kind = lhs.type
        assert isinstance(kind, TileType) and isinstance(op.results[0].type, TileType)
        rank = len(kind.shape)
        if self.long.get(lhs) != rank - 1 or self.long.get(rhs) != rank - 2 or acc in self.long:
            return False
        element = kind.element
        if isinstance(element, ElementType) and element.width_bits <= 8:
            return False  # their products follow the GPU's own order
        self.products += 1
        self._append(op, [op.results[0].type])
        return True


def _longer(kind: Type, dim: int, factor: int) -> TileType:
    assert isinstance(kind, TileType)
    return TileType(kind.element, tuple(n * factor if i == dim else n for i, n in enumerate(kind.shape)))
