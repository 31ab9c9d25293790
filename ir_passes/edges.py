"""From which values each value is made, one operation at a time: what graphs and reachability are built on."""

from __future__ import annotations

from collections.abc import Iterator

from cutile_sim.tileir.core import Op, Region, Value


def edges_of(op: Op) -> Iterator[tuple[Value, Value, bool]]:
    """(from, to, whether by control only) of one operation, its regions' own operations left out."""
    if op.name == "if":
        for region in op.regions:
            for result, value in zip(op.results, region.ops[-1].inputs, strict=False):
                if region.ops[-1].name == "yield":
                    yield value, result, False
        for result in op.results:
            yield op.inputs[0], result, True
    elif op.name in ("for", "loop"):
        yield from _loop_edges(op)
    else:
        for value in op.inputs:
            for result in op.results:
                yield value, result, False
        for region in op.regions:
            for argument, value in zip(region.arguments, (v for v in op.inputs for _ in range(2)), strict=False):
                yield value, argument, False
            for value in region.ops[-1].inputs:
                for result in op.results:
                    yield value, result, False


def _loop_edges(op: Op) -> Iterator[tuple[Value, Value, bool]]:
    region = op.regions[0]
    counters = 1 if op.name == "for" else 0
    carried = region.arguments[counters:]
    initial = op.operands["init_values"]
    assert isinstance(initial, tuple)
    for value, argument in zip(initial, carried, strict=True):
        yield value, argument, False
    if counters:
        bounds = op.inputs[:3]
        for value in bounds:
            yield value, region.arguments[0], False
            for result in op.results:
                yield value, result, True
        for argument, result in zip(carried, op.results, strict=True):
            yield argument, result, False
    for end in terminators(region):
        targets = carried if end.name == "continue" else op.results
        for value, target in zip(end.inputs, targets, strict=True):
            yield value, target, False


def terminators(region: Region) -> Iterator[Op]:
    """The `continue`s and `break`s that belong to the loop with this body: also those inside nested `if`s."""
    for op in region.ops:
        if op.name in ("continue", "break"):
            yield op
        elif op.name == "if":
            for nested in op.regions:
                yield from terminators(nested)
