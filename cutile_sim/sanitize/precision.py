"""Digits that sums and products lose, against the same operation in float64. Costs time, and runs on request only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutile_sim.dtypes import F64, ElementType
from cutile_sim.engine.context import Context
from cutile_sim.engine.steps import captured
from cutile_sim.sanitize.shadows import is_float
from cutile_sim.sanitize.watch import BATCH_AXES, Check, Handler, Watch
from cutile_sim.tileir.core import Op

_EXACT: dict[str, Callable[..., np.ndarray]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "fma": lambda a, b, c: a * b + c,
    "mmaf": lambda a, b, c: a @ b + c,
}
WORTH_TELLING = 2.0**-12
"""Errors below this part of the largest result are not worth a line."""


@dataclass
class _Loss:
    error: float = 0.0
    largest: float = 0.0
    turns: int = 0

    @property
    def part(self) -> float:
        return self.error / self.largest if self.largest else 0.0


class Precision(Check):
    """CTS604: the line whose rounding errors, summed over the launch, are largest beside its results."""

    name = "precision"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.losses: dict[Op, _Loss] = {}

    def after_of(self, op: Op) -> Handler | None:
        if not op.results or not is_float(op.results[0]):
            return None
        element = op.results[0].type.element  # type: ignore[union-attr]
        if element is F64 or not (op.name in _EXACT or _is_sum(op)):
            return None
        self.losses[op] = _Loss()
        return self._compare

    def _compare(self, op: Op, slots: list[Any], cx: Context) -> None:
        result = slots[op.results[0].index]
        inputs = [slots[v.index].astype(np.float64) for v in op.inputs]
        if _is_sum(op):
            exact = np.add.reduce(inputs[0], axis=int(op.attributes["dim"]) + BATCH_AXES)
        else:
            exact = _EXACT[op.name](*inputs)
        known = np.isfinite(exact) & np.isfinite(result)
        loss = self.losses[op]
        loss.error += float(np.max(np.abs(exact - result), initial=0.0, where=known))
        loss.largest = max(loss.largest, float(np.max(np.abs(exact), initial=0.0, where=known)))
        loss.turns += 1

    def finished(self, cx: Context) -> None:
        """Name the worst line."""
        if not self.losses:
            return
        op, loss = max(self.losses.items(), key=lambda item: item[1].part)
        if loss.part < WORTH_TELLING:
            return
        element = op.results[0].type.element  # type: ignore[union-attr]
        assert isinstance(element, ElementType)
        digits = max(0.0, -math.log10(loss.part))
        self.watch.report(
            "CTS604",
            "note",
            f"{op.name} in {element.name} loses the most: its rounding errors add up to {loss.part:.1e} of its largest"
            f" result, which leaves about {digits:.1f} digits",
            op,
            details={"relative_error": loss.part},
        )


def _is_sum(op: Op) -> bool:
    if op.name != "reduce" or len(op.inputs) != 1 or captured(op):
        return False
    *steps, _ = op.regions[0].ops
    return len(steps) == 1 and steps[0].name == "addf"
