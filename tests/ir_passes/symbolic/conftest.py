"""Modules beside the tests, and source files made up by them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


def load_module(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def load() -> Callable[[str], ModuleType]:
    """The module of that name beside the tests."""
    return lambda name: load_module(Path(__file__).with_name(f"{name}.py"), f"symbolic_{name}")


@pytest.fixture
def module_of(tmp_path: Path) -> Callable[[str], ModuleType]:
    """A module with that text, in a file, as cuTile needs it."""

    def make(text: str) -> ModuleType:
        path = tmp_path / f"made{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text, encoding="utf-8")
        return load_module(path, f"symbolic_{tmp_path.name}_{path.stem}")

    return make
