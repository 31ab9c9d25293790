"""Kernels traced and shown by TileLens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tilelens_page import Page

from cutile_sim.traces import trace, write_tvz


@pytest.fixture
def shown(tmp_path: Path) -> Callable[..., Page]:
    def show(kernel: Any, grid: Any, *args: Any, **options: Any) -> Page:
        path = tmp_path / "x.tvz"
        assert write_tvz(trace(kernel, grid, *args, values=True, contents=True, **options), path) == ()
        return Page(path)

    return show
