"""The kernels of kernels.py, loaded by path: this folder is no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def kernels() -> ModuleType:
    pytest.importorskip("cuda.tile")
    path = Path(__file__).with_name("kernels.py")
    spec = importlib.util.spec_from_file_location("frontend_test_kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
