"""The questions that the page asks, by name. Server and file give the same answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cutile_sim.errors import UsageError
from cutile_sim.page import arrays, blocks, launches, records, reports
from cutile_sim.page.questions import Question
from cutile_sim.traces.reader import Trace

ANSWERS: Mapping[str, Callable[[Question], dict[str, Any]]] = {
    "trace": launches.trace,
    "launch": launches.launch,
    "plane": arrays.plane,
    "times": arrays.times,
    "coverage": arrays.cover,
    "values": arrays.values,
    "element": arrays.element,
    "blocks": blocks.grid,
    "block": blocks.block,
    "record": records.record,
    "cuts": records.cuts,
    "compare": blocks.compare,
    "summary": reports.totals,
    "graph": reports.graph,
}


def answer(trace: Trace, name: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a question, ready for JSON. Raises UsageError where the question makes no sense."""
    if name not in ANSWERS:
        raise UsageError(f"there is nothing called {name!r} to ask for")
    return ANSWERS[name](Question(trace, parameters))
