"""Violated verdicts as findings."""

from __future__ import annotations

from cutile_sim.findings import Finding, Severity
from ir_passes.symbolic import Check, Verdict

_SEVERITY: dict[Check, Severity] = {
    Check.STORED_TILE: "warning",
    Check.LOADED_TILE: "warning",
    Check.COVERAGE: "warning",
}
_OTHER = {Check.DISJOINT_STORES: "the other store", Check.DISJOINT_LOADS: "the store"}


def finding(verdict: Verdict) -> Finding:
    """The finding that a violated verdict, confirmed, is."""
    witness = verdict.witness
    assert witness is not None
    other = verdict.other.location if verdict.other is not None else None
    words = [f"{name} is {value}" for name, value in (*(witness.turns or {}).items(), *(witness.values or {}).items())]
    words += [f"with {name} = {value}" for name, value in (witness.parameters or {}).items()]
    if witness.other_block is not None:
        words.append(f"the other block is {witness.other_block}")
    if verdict.index is not None:
        words.append(f"such as {list(verdict.index)}")
    if verdict.condition:
        words.append(f"this happens whenever {verdict.condition}")
    return Finding(
        verdict.check.value,
        _SEVERITY.get(verdict.check, "error"),
        "; ".join([verdict.message, *words]),
        verdict.location,
        block=None if verdict.check is Check.COVERAGE else witness.block,
        lane=witness.lane or None,
        array=verdict.array,
        index=verdict.index,
        related=((_OTHER[verdict.check], other),) if other is not None else (),
        details={"proved": True, "parameters": dict(witness.parameters or {}), "condition": verdict.condition},
    )
