"""All checks over one function and one launch."""

from __future__ import annotations

from cutile_sim.optable.encoding import Signedness
from cutile_sim.tileir.core import Function, Op, Value
from ir_passes.symbolic.accesses import access_verdicts, verb
from ir_passes.symbolic.computations import CHECKED_OPS, address_values, computation_verdicts
from ir_passes.symbolic.conflicts import shared_memory_verdicts
from ir_passes.symbolic.events import Launch
from ir_passes.symbolic.execute import follow
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.places import target_of
from ir_passes.symbolic.report import Check, Proofs, Verdict


def prove(function: Function, launch: Launch) -> Proofs:
    """Check every access, division, shift, promise and address of a kernel for all blocks of a launch.

    The cost depends on the code alone, not on the grid or the arrays.
    """
    trace = follow(function, launch)
    addresses = address_values(function)
    judge = Judge(trace, launch, _unsigned_reads(function))
    verdicts: list[Verdict] = []
    idle = _without_promise(function, launch)
    met = set()
    for event in trace.events:
        met.add(event.op)
        if target_of(event.op) is not None:
            verdicts.extend(access_verdicts(event, judge))
        elif event.op.name in CHECKED_OPS and event.op not in idle:
            verdicts.extend(computation_verdicts(event, judge, addresses))
    for op in function.walk():
        if op not in met and target_of(op) is not None:
            verdicts.append(Verdict(Check.RANGE, "proved", f"the {verb(op)} is never reached", op))
    verdicts.extend(shared_memory_verdicts(function, trace.events, launch, judge))
    return Proofs(tuple(verdicts))


def _without_promise(function: Function, launch: Launch) -> set[Op]:
    """Promises that nobody keeps: on such parameters, and on constants, where the front-end repeats what it was told of
    a stride of one.
    """
    values = {function.parameters[i] for i in launch.without_promise}
    found = set()
    for op in function.walk():
        if op.name == "constant":
            values.update(op.results)
        if op.name == "assume" and op.inputs[0] in values:
            found.add(op)
            values.update(op.results)
    return found


def _unsigned_reads(function: Function) -> frozenset[Value]:
    return frozenset(
        value
        for op in function.walk()
        if op.name in ("exti", "divi", "remi", "shri") and op.attributes["signedness"] is Signedness.UNSIGNED
        for value in op.inputs
    )
