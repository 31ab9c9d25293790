"""TileLens with a trace of ours open."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest


class Page:
    """TileLens with a trace of ours open, asked through its server's routes."""

    def __init__(self, path: Path) -> None:
        tilelens = pytest.importorskip("tilelens")
        pytest.importorskip("torch")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of triton's and torch's, when they are first imported
            from tilelens.visualizer.interface import app
        self.launches = tilelens.load(path)
        self.client = app.test_client()
        assert self.client.get("/api/update_data").json == {"status": "Data updated successfully"}
        self.data = self.client.get("/api/data").json
        self.ops = self.data["ops"]["visualization_data"]

    def ask(self, route: str, **fields: Any) -> Any:
        reply = self.client.post(f"/api/{route}", json=fields)
        assert reply.status_code == 200, reply.text
        if reply.is_json:
            assert "error" not in reply.json, reply.json
            return reply.json
        return reply.data

    def block(self, *block: int, kind: str = "") -> list[dict[str, Any]]:
        """What a block did, in its order."""
        return [op for op in self.ops[str(block)] if not kind or op["type"] == kind]

    def analysis(self) -> dict[str, Any]:
        return dict(zip(self.data["analysis"]["Metric"], self.data["analysis"]["Value"], strict=True))


def lit(reply: dict[str, Any]) -> np.ndarray:
    """The elements that the page lights up, as a mask over the array."""
    found = np.zeros(reply["shape"], bool)
    lights = reply.get("highlights")
    if lights is not None and lights["type"] == "array":
        found[tuple(np.array(lights["data"]).T)] = True
    elif lights is not None:
        axes = [
            first + step * np.arange(n)
            for first, step, n in zip(lights["start"], lights["stride"], lights["shape"], strict=True)
        ]
        found[np.ix_(*axes)] = True
    return found


def box(shape: tuple[int, ...], *spans: tuple[int, int]) -> np.ndarray:
    found = np.zeros(shape, bool)
    found[tuple(slice(a, b) for a, b in spans)] = True
    return found
