"""Numbers that go wrong: the first NaN or infinity, and saturation."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.dtypes import F16, ElementType, to_carrier
from cutile_sim.engine.context import Context
from cutile_sim.engine.group import UNSET
from cutile_sim.sanitize.lanes import counting
from cutile_sim.sanitize.shadows import is_float
from cutile_sim.sanitize.watch import BATCH_AXES, Check, Handler, Watch, first_position
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import TileType

NAN, INFINITE = 16, 32
_QUIET = frozenset(
    ("constant", "iota", "reshape", "broadcast", "permute", "cat", "extract", "insert", "select", "assume", "negf")
    + ("absf", "maxf", "minf", "bitcast", "unpack", "pack", "floor", "ceil", "sin", "cos", "tanh")
)
"""Operations that make no NaN or infinity of numbers."""
_VALUE = {"store_view_tko": "tile", "store_ptr_tko": "value", "atomic_rmw_tko": "arg", "atomic_red_view_tko": "value"}


class Numbers(Check):
    """CTS601: a NaN is born of numbers and stored. CTS602: the same of an infinity. CTS603: a number saturates in a
    float type of 8 bits.
    """

    name = "numbers"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.any = False
        self.done: set[Op] = set()

    def after_of(self, op: Op) -> Handler | None:
        if not op.results or not is_float(op.results[0]) or op.spec.effect != "pure":
            return None
        if op.name == "ftof":
            target = op.results[0].type.element  # type: ignore[union-attr]
            if isinstance(target, ElementType) and target.width_bits <= 8:
                return self._narrowed
            source = op.inputs[0].type.element  # type: ignore[union-attr]
            assert isinstance(source, ElementType) and isinstance(target, ElementType)
            if target.width_bits >= source.width_bits and target is not F16:
                return None
        return None if op.name in _QUIET else self._born

    def _born(self, op: Op, slots: list[Any], cx: Context) -> None:
        result = slots[op.results[0].index]
        # A sum is finite only if all its terms are, and costs one pass without a temporary.
        if np.isfinite(np.add.reduce(result, axis=None)) or op in self.done:
            return
        bad = ~np.isfinite(result)
        if not bad.any():
            return
        inputs = [slots[v.index] for v in op.inputs if is_float(v)]
        lanewise = not op.regions and op.spec.meaning.family != "mma"
        nan_before: Any = False
        odd_before: Any = False
        for value in inputs:
            nan, odd = np.isnan(value), ~np.isfinite(value)
            nan_before = nan_before | (nan if lanewise else nan.any())
            odd_before = odd_before | (odd if lanewise else odd.any())
        known = slots[self.watch.shadow + op.results[0].index]
        sound = True if known is UNSET else known == 0
        born_nan = np.isnan(result) & ~np.asarray(nan_before) & sound
        born_infinite = np.isinf(result) & ~np.asarray(odd_before) & sound
        for id, bit, born, what in (
            ("CTS601", NAN, born_nan, "NaN"),
            ("CTS602", INFINITE, born_infinite, "infinity"),
        ):
            if born.any():
                self.any = True
                self.done.add(op)
                at = first_position(born)
                operands = [slots[v.index] for v in op.inputs if isinstance(v.type, TileType)]
                self.watch.begin(id, bit, op, f"{op.name} makes {what}{_of(operands, at, lanewise)}", at)

    def _narrowed(self, op: Op, slots: list[Any], cx: Context) -> None:
        source, result = slots[op.inputs[0].index], slots[op.results[0].index]
        target = op.results[0].type.element  # type: ignore[union-attr]
        highest = np.abs(result).max()
        if not np.abs(source).max() > highest * (1 + 2.0**-4):  # a NaN is none
            return
        bad = np.isfinite(source) & (np.abs(source) > np.abs(result) * (1 + 2.0**-3)) & (np.abs(result) == highest)
        known = slots[self.watch.shadow + op.inputs[0].index]
        if known is not UNSET:
            bad &= known == 0
        if bad.any():
            at = first_position(bad)
            self.watch.report(
                "CTS603",
                "warning",
                f"{float(source[at]):g} is more than {target} can hold and saturates to {float(result[at]):g}",
                op,
                block=self.watch.block_at(at),
                lane=at[BATCH_AXES:],
                count=int(np.count_nonzero(bad)),
            )

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        op = cx.op
        if not self.any or op is None or not element.is_float:
            return
        value = op.operands[_VALUE.get(op.name, "val")]
        assert isinstance(value, Value)
        lanes = counting(place, mask)
        numbers = to_carrier(stored, element)
        nan, infinite = np.isnan(numbers), np.isinf(numbers)
        if lanes is not None:
            nan, infinite = nan & lanes, infinite & lanes
        bits = (NAN, INFINITE) if nan.any() else (INFINITE,) if infinite.any() else ()
        nearest = (next(self.watch.events_behind([value], bit), None) for bit in bits)
        events = [event for event in nearest if event is not None]
        if not events:
            return
        event = min(events, key=lambda e: e.number)
        what = "NaN" if NAN in bits and (event.bit == NAN or not infinite.any()) else "infinity"
        self.watch.report(
            event.id,
            "warning",
            f"{event.message}, and {what} is stored",
            event.op,
            block=event.block,
            lane=event.lane,
            related=(("stored", op.location),),
            count=int(np.count_nonzero(nan | infinite)),
        )


def _of(inputs: list[np.ndarray], at: tuple[int, ...], lanewise: bool) -> str:
    """The operands of a lane, in words."""
    if not lanewise or not inputs:
        return ""
    shape = np.broadcast_shapes(*(v.shape for v in inputs))
    if len(shape) != len(at):
        return ""
    lane = tuple(min(i, n - 1) for i, n in zip(at, shape, strict=True))
    numbers = [f"{float(np.broadcast_to(v, shape)[lane]):g}" for v in inputs]
    return f" of {' and '.join(numbers)}"
