"""Arithmetic without a defined result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cutile_sim.dtypes import I1, ElementType
from cutile_sim.engine.context import Context
from cutile_sim.engine.group import UNSET
from cutile_sim.optable.encoding import Signedness
from cutile_sim.sanitize.shadows import DOUBTFUL, UNDEFINED
from cutile_sim.sanitize.watch import Check, Handler, first_position
from cutile_sim.tileir.core import Op

_Finder = Callable[[Op, list[Any]], "tuple[str, str, np.ndarray] | None"]


class Arithmetic(Check):
    """CTS501: integer division by zero. CTS502: the minimum over -1. CTS503: a shift by the width or more. CTS504: a
    float beyond the range of an integer.

    Marks such lanes after `Undetermined` has gone by, which then reports those that reach a store, a branch, an address
    or a print.
    """

    name = "arithmetic"

    def after_of(self, op: Op) -> Handler | None:
        find = _FINDERS.get(op.name)
        if find is None or (op.name == "ftoi" and not _converts(op)):
            return None
        shadow = self.watch.shadow
        result = op.results[0].index
        inputs = [shadow + v.index for v in op.inputs]

        def mark(op: Op, slots: list[Any], cx: Context) -> None:
            found = find(op, slots)
            if found is None:
                return
            id, message, bad = found
            for at in inputs:  # what was doubtful before has its own cause
                if slots[at] is not UNSET and slots[at].any():
                    bad = bad & ((slots[at] & DOUBTFUL) == 0)
            if bad.any():
                self.watch.begin(id, int(UNDEFINED), op, message, first_position(bad))
                marks = np.where(bad, UNDEFINED, np.uint8(0))
                known = slots[shadow + result]
                slots[shadow + result] = marks if known is UNSET else known | marks

        return mark


def _converts(op: Op) -> bool:
    return not op.attributes["saturating"] and op.results[0].type.element is not I1  # type: ignore[union-attr]


def _operands(op: Op, slots: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    return slots[op.inputs[0].index], slots[op.inputs[1].index]


def _division(op: Op, slots: list[Any]) -> tuple[str, str, np.ndarray] | None:
    a, b = _operands(op, slots)
    if not b.all():
        bad = np.broadcast_to(b == 0, np.broadcast_shapes(a.shape, b.shape))
        dividend = int(np.broadcast_to(a, bad.shape)[first_position(bad)])
        return "CTS501", f"integer division by zero ({dividend} by 0)", bad
    if op.attributes["signedness"] is Signedness.SIGNED and a.dtype != bool:
        low = np.iinfo(a.dtype).min
        if (b == -1).any() and (a == low).any():
            bad = (b == -1) & (a == low)
            if bad.any():
                return "CTS502", f"the smallest integer, {low}, is divided by -1", bad
    return None


def _shift(op: Op, slots: list[Any]) -> tuple[str, str, np.ndarray] | None:
    a, b = _operands(op, slots)
    width_bits = 1 if b.dtype == bool else b.dtype.itemsize * 8
    counts = b.view(f"u{b.dtype.itemsize}")
    if not counts.size or counts.max() < width_bits:
        return None
    bad = np.broadcast_to(counts >= width_bits, np.broadcast_shapes(a.shape, b.shape))
    count = int(np.broadcast_to(counts, bad.shape)[first_position(bad)])
    return "CTS503", f"a shift of {width_bits} bits by {count}", bad


def _conversion(op: Op, slots: list[Any]) -> tuple[str, str, np.ndarray] | None:
    source = slots[op.inputs[0].index]
    target = op.results[0].type.element  # type: ignore[union-attr]
    assert isinstance(target, ElementType)
    signed = op.attributes["signedness"] is Signedness.SIGNED
    width = target.width_bits
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if signed else (0, 1 << width)
    # The ends are powers of two, exact in every float type. A NaN fails both comparisons.
    if source.min() > low - 1 and source.max() < high:
        return None
    whole = np.trunc(source)
    bad = ~((whole >= low) & (whole < high))
    if not bad.any():
        return None
    value = source[first_position(bad)]
    kind = f"{'' if signed else 'un'}signed {target.name}"
    return "CTS504", f"{float(value):g} is beyond the range of {kind} that it is converted to", bad


_FINDERS: dict[str, _Finder] = {
    "divi": _division,
    "remi": _division,
    "shli": _shift,
    "shri": _shift,
    "ftoi": _conversion,
}
