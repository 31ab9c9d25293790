"""Answers that sum up: bytes, reuse and estimates of a launch, and the graph of its operations."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cutile_sim.analysis import GPUS, dataflow, summary
from cutile_sim.page.graph import layout
from cutile_sim.page.questions import Question

DEFAULT_GPU = "H100 SXM"


def totals(question: Question) -> dict[str, Any]:
    """The launch in numbers, with an estimate for a GPU."""
    names = list(GPUS)
    gpu = question.text("gpu") if question.has("gpu") else DEFAULT_GPU
    found = asdict(summary(question.launch, gpu))
    return {"gpus": names, "gpu": gpu, **found}


def graph(question: Question) -> dict[str, Any]:
    """Operations and the values that go between them, with places to draw them."""
    return layout(dataflow(question.launch), question.launch, everything=question.has("all"))
