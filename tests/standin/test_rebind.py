"""Globals of loaded modules, by identity, and back."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from cutile_sim.standin.rebind import Rebinder


@pytest.fixture
def module() -> Any:
    module = ModuleType("module_to_rebind")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def test_replace_and_restore(module: Any) -> None:
    old, new, equal_to_old = [1], [2], [1]
    module.a, module.b, module.c = old, equal_to_old, new
    rebinder = Rebinder()
    rebinder.replace(old, new)
    assert module.a is new
    assert module.b is equal_to_old
    module.later = new
    rebinder.restore()
    assert module.a is module.later is old


def test_only_wanted_modules(module: Any) -> None:
    old, new = [1], [2]
    module.a = old
    rebinder = Rebinder()
    rebinder.replace(old, new, wanted=lambda name: name != module.__name__)
    assert module.a is old


def test_attributes_that_were_there_and_were_not(module: Any) -> None:
    module.there = 1
    rebinder = Rebinder()
    rebinder.set_attribute(module, "there", 2)
    rebinder.set_attribute(module, "there", 3)
    rebinder.set_attribute(module, "new", 4)
    assert (module.there, module.new) == (3, 4)
    rebinder.restore()
    assert module.there == 1
    assert not hasattr(module, "new")
