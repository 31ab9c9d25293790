"""Promises that the kernel makes to the compiler, and that do not hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.engine.context import Context
from cutile_sim.engine.group import UNSET
from cutile_sim.optable.encoding import IntegerOverflow
from cutile_sim.sanitize.shadows import DOUBTFUL
from cutile_sim.sanitize.watch import BATCH_AXES, Check, Handler, Watch, first_position
from cutile_sim.tileir.attributes import Bounded, DivBy, SameElements
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import TensorViewType

_THROUGH = frozenset(
    ("addi", "subi", "muli", "divi", "exti", "reshape", "broadcast", "permute", "cat", "select", "assume", "extract")
)
"""Operations through which a number stays part of an address. A remainder, a mask or a shift is how a hash is made."""
_WRAPPING = {"addi": np.add, "subi": np.subtract, "muli": np.multiply}


class Promises(Check):
    """CTS401: an `assume` that does not hold. CTS402: a result that wraps though it was promised not to. CTS403: arrays
    that share memory. CTS404: an address is computed from a 32-bit number that has wrapped.
    """

    name = "promises"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.in_addresses = _address_parts(watch)
        self.broken: set[Op] = set()
        self._share_memory()

    def before_of(self, op: Op) -> Handler | None:
        return self._assume if op.name == "assume" else None

    def after_of(self, op: Op) -> Handler | None:
        if op.name not in _WRAPPING:
            return None
        if op.attributes["overflow"] is not IntegerOverflow.NONE:
            return self._promised
        element = getattr(op.results[0].type, "element", None)
        if op.results[0] in self.in_addresses and getattr(element, "width_bits", 0) == 32:
            return self._address
        return None

    def _share_memory(self) -> None:
        """Report arrays that the compiler takes to be apart."""
        watch = self.watch
        for overlap in watch.cx.overlaps:
            written, other = (
                [o for o in watch.roots if (array := watch.array_of(o)) is not None and array.name == name]
                for name in overlap
            )
            store = next((o for o in written if watch.roots[o].writes), None)
            if store is not None and other:
                watch.report(
                    "CTS403",
                    "warning",
                    str(overlap),
                    store,
                    array=overlap.written,
                    related=((f"'{overlap.other}' is accessed here", other[0].location),),
                )

    def _assume(self, op: Op, slots: list[Any], cx: Context) -> None:
        value, predicate = slots[op.inputs[0].index], op.attributes["predicate"]
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
            return
        if isinstance(predicate, DivBy):
            bad, promise = _not_divisible(value, predicate), f"a multiple of {predicate.divisor}"
        elif isinstance(predicate, Bounded):
            bad = np.zeros(value.shape, bool)
            if predicate.lower is not None:
                bad |= value < predicate.lower
            if predicate.upper is not None:
                bad |= value > predicate.upper
            low, high = ("" if b is None else str(b) for b in (predicate.lower, predicate.upper))
            promise = f"between {low} and {high}" if low and high else f"at least {low}" if low else f"at most {high}"
        else:
            assert isinstance(predicate, SameElements)
            bad, promise = _not_same(value, predicate), f"the same in runs of {predicate.values}"
        known = slots[self.watch.shadow + op.inputs[0].index]
        if known is not UNSET:
            bad = bad & ((known & DOUBTFUL) == 0)  # an undetermined value breaks promises, but that is no news
        if bad.any() and not self._is_idle_stride(op.results[0], slots) and not self._follows(op):
            self.broken.add(op)
            at = first_position(bad)
            self.watch.report(
                "CTS401",
                "error",
                f"a value is promised to be {promise}, and is {int(value[at])}",
                op,
                block=self.watch.block_at(at),
                lane=at[BATCH_AXES:],
                count=int(np.count_nonzero(bad)),
            )

    def _follows(self, op: Op) -> bool:
        """Whether a promise is made of another broken one, and was bound to break with it."""
        return any(
            maker in self.broken and maker is not op
            for value in self.watch.behind(op.inputs)
            if (maker := self.watch.makers.get(value)) is not None
        )

    def _is_idle_stride(self, value: Value, slots: list[Any]) -> bool:
        """Whether a value is nothing but the stride of a dimension of one element, which no address depends on."""
        users = self.watch.users.get(value, [])
        for user in users:
            if user.name == "assume":
                if not self._is_idle_stride(user.results[0], slots):
                    return False
            elif user.name != "make_tensor_view" or not self._has_one_element_along(user, value, slots):
                return False
        return bool(users)

    def _has_one_element_along(self, op: Op, stride: Value, slots: list[Any]) -> bool:
        kind = op.results[0].type
        strides, shape = op.operands["dynamic_strides"], op.operands["dynamic_shape"]
        assert isinstance(kind, TensorViewType) and isinstance(strides, tuple) and isinstance(shape, tuple)
        free = [d for d, n in enumerate(kind.strides) if n is None]
        lengths = [d for d, n in enumerate(kind.shape) if n is None]
        for d, value in zip(free, strides, strict=True):
            if value is not stride:
                continue
            length: Any = kind.shape[d]
            if length is None:
                known = slots[self._unassumed(shape[lengths.index(d)]).index]
                length = int(known.max()) if isinstance(known, np.ndarray) else None
            if length is None or length > 1:
                return False
        return stride not in shape and op.operands["base"] is not stride

    def _unassumed(self, value: Value) -> Value:
        while (maker := self.watch.makers.get(value)) is not None and maker.name == "assume":
            value = maker.inputs[0]
        return value

    def _promised(self, op: Op, slots: list[Any], cx: Context) -> None:
        overflow = op.attributes["overflow"]
        for flag, unsigned in ((IntegerOverflow.NSW, False), (IntegerOverflow.NUW, True)):
            if overflow in (flag, IntegerOverflow.NW):
                self._report("CTS402", op, slots, unsigned, "though it is promised not to")

    def _address(self, op: Op, slots: list[Any], cx: Context) -> None:
        a, b = (slots[v.index] for v in op.inputs)
        ends = [_WRAPPING[op.name](int(x), int(y)) for x in (a.min(), a.max()) for y in (b.min(), b.max())]
        if max(ends) < 1 << 31 and min(ends) >= -(1 << 31):
            return
        self._report("CTS404", op, slots, False, "and an address or an index is made of it")

    def _report(self, id: str, op: Op, slots: list[Any], unsigned: bool, tail: str) -> None:
        a, b = (slots[v.index] for v in op.inputs)
        if a.dtype == bool:
            return
        if unsigned:
            a, b = a.view(f"u{a.dtype.itemsize}"), b.view(f"u{b.dtype.itemsize}")
        ufunc, limits = _WRAPPING[op.name], np.iinfo(a.dtype)
        wide: Any = np.int64 if a.dtype.itemsize < 8 else object
        exact = ufunc(a.astype(wide), b.astype(wide))
        bad = np.asarray((exact < limits.min) | (exact > limits.max), bool)
        if not bad.any():
            return
        at = first_position(bad)
        left, right = (int(np.broadcast_to(x, bad.shape)[at]) for x in (a, b))
        sign = {"addi": "+", "subi": "-", "muli": "*"}[op.name]
        self.watch.report(
            id,
            "error",
            f"{left} {sign} {right} = {int(exact[at])} does not fit {limits.bits} bits and wraps, {tail}",
            op,
            block=self.watch.block_at(at),
            lane=at[BATCH_AXES:],
            count=int(np.count_nonzero(bad)),
        )


def _not_divisible(value: np.ndarray, promise: DivBy) -> np.ndarray:
    if promise.every is None or promise.along is None:
        return np.asarray(value % promise.divisor != 0)
    axis = BATCH_AXES + promise.along
    n = value.shape[axis]
    starts = np.arange(n) // promise.every * promise.every
    steps = (np.arange(n) - starts).reshape([n if a == axis else 1 for a in range(value.ndim)])
    first = value.take(starts, axis=axis)
    return np.asarray((first % promise.divisor != 0) | (value != first + steps))


def _not_same(value: np.ndarray, promise: SameElements) -> np.ndarray:
    bad = np.zeros(value.shape, bool)
    for along, run in enumerate(promise.values):
        axis = BATCH_AXES + along
        starts = np.arange(value.shape[axis]) // max(run, 1) * max(run, 1)
        bad |= value != value.take(starts, axis=axis)
    return bad


def _address_parts(watch: Watch) -> set[Value]:
    """Values that addresses and tile indices are computed from, through sums and products alone."""
    queue: list[Value] = []
    for op in watch.ops:
        if op.name == "offset":
            queue.append(op.inputs[1])
        index = op.operands.get("index")
        if isinstance(index, tuple):
            queue.extend(index)
    found: set[Value] = set()
    for value in queue:
        if value in found:
            continue
        found.add(value)
        maker = watch.makers.get(value)
        if maker is None or maker.name in _THROUGH or maker.regions:
            if maker is not None and maker.name == "exti" and maker.attributes["signedness"].name == "UNSIGNED":
                continue
            queue.extend(watch.origins.get(value, ()))
    return found
