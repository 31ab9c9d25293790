"""Evaluates the region of a reduction or scan on whole arrays at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cutile_sim.ops.reduce_pick import Rule, only_compares, rule_of
from cutile_sim.tileir.core import Op, Value


class Body:
    """The region of one operation as a function of arrays: made once, run many times."""

    def __init__(self, op: Op, captured: list[Value], make_step: Callable[[Op], Callable[..., None]]) -> None:
        region = op.regions[0]
        self.op = op
        self.arguments = [v.index for v in region.arguments]
        self.captured = [v.index for v in captured]
        *steps, end = region.ops
        self.steps = [_body_step(o, make_step) for o in steps if o.name != "constant"]
        self.results = [v.index for v in end.inputs]
        self.kind: str | None = None
        self.attributes: Mapping[str, Any] = {}
        self.operand_elements = [getattr(v.type, "element", None) for v in region.arguments]
        self.is_choice = only_compares(op)
        self.rules: dict[Any, Any] = {}
        if len(steps) == 1 and steps[0].inputs == region.arguments and end.inputs == steps[0].results:
            self.kind, self.attributes = steps[0].name, steps[0].attributes

    def bind(self, slots: list[Any], cx: Any) -> BoundBody:
        return BoundBody(self, slots, cx)


class BoundBody:
    """A body with the slots of a running group: what `reduce` and `scan` get as `cx`."""

    def __init__(self, body: Body, slots: list[Any], cx: Any) -> None:
        self._body = body
        self._slots = slots
        self._cx = cx

    def body_kind(self) -> str | None:
        """The name of the operation where the body is just that on its two arguments, else None."""
        return self._body.kind

    @property
    def body_attributes(self) -> Mapping[str, Any]:
        """Attributes of that one operation."""
        return self._body.attributes

    @property
    def body_elements(self) -> list[Any]:
        """Element types of the body's arguments."""
        return self._body.operand_elements

    def body_rule(self, values: np.dtype, indices: np.dtype) -> Rule | None:
        """Which element the region picks of values with their indices, if that is all it does."""
        body = self._body
        if not body.is_choice:
            return None
        key = values, indices
        if key not in body.rules:
            body.rules[key] = rule_of(self.run_body, values, indices)
        return body.rules[key]

    def run_body(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Evaluate the region: each argument is an array of shape (z, y, x, *rest) standing for scalars."""
        body, slots = self._body, self._slots
        rank = max(a.ndim for a in arrays)
        saved = [(i, slots[i]) for i in body.captured]
        for i, value in saved:
            if isinstance(value, np.ndarray) and value.ndim < rank:
                slots[i] = value.reshape(value.shape + (1,) * (rank - value.ndim))
        for i, array in zip(body.arguments, arrays, strict=True):
            slots[i] = array
        for step in body.steps:
            step(slots, self._cx)
        results = tuple(slots[i] for i in body.results)
        for i, value in saved:
            slots[i] = value
        shape = np.broadcast_shapes(*(a.shape for a in arrays), *(r.shape for r in results))
        return tuple(np.broadcast_to(r, shape) for r in results)


def _body_step(op: Op, make_step: Callable[[Op], Callable[..., None]]) -> Callable[..., None]:
    """A step of a body. An `if` evaluates both sides, which are pure, and selects."""
    if op.name != "if":
        return make_step(op)
    sides = []
    for region in op.regions:
        *steps, end = region.ops
        sides.append(([_body_step(o, make_step) for o in steps], [v.index for v in end.inputs]))
    condition = op.inputs[0].index
    results = [v.index for v in op.results]

    def step(slots: list[Any], cx: Any) -> None:
        values = []
        for steps, outputs in sides:
            for inner in steps:
                inner(slots, cx)
            values.append([slots[i] for i in outputs])
        for slot, yes, no in zip(results, *values, strict=True):
            slots[slot] = np.where(slots[condition], yes, no)

    return step
