"""Actions after an import, and stand-ins for packages that are missing."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from cutile_sim import errors
from cutile_sim.standin import imports
from cutile_sim.standin.rebind import Rebinder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "watched_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("from watched_package import part\nVALUE = 1\n")
    (folder / "part.py").write_text("ANSWER = 42\ndef f():\n    return ANSWER\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "watched_package"
    for name in [n for n in sys.modules if n.startswith("watched_package")]:
        del sys.modules[name]


def test_the_action_comes_after_the_import(package: str) -> None:
    seen: list[tuple[str, bool]] = []

    def action(module: ModuleType) -> None:
        seen.append((module.__name__, hasattr(module, "VALUE") or hasattr(module, "f")))

    imports.after_import(package, action)
    imports.after_import(f"{package}.part", action)
    assert seen == []
    module = importlib.import_module(package)
    assert seen == [(f"{package}.part", True), (package, True)]
    assert "return ANSWER" in inspect.getsource(sys.modules[f"{package}.part"].f)
    assert type(module.__loader__) is type(module.__spec__.loader) is type(importlib.util.find_spec("json").loader)
    imports.after_import(package, action)
    assert len(seen) == 3


def test_an_action_can_be_taken_back(package: str) -> None:
    def action(module: ModuleType) -> None:
        raise AssertionError("taken back")

    imports.after_import(package, action)
    imports.forget(package, action)
    importlib.import_module(package)


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Stand-ins of the test's own, enabled."""
    monkeypatch.setattr(imports, "MODULE_STAND_INS", {})
    monkeypatch.setattr(imports, "_hidden", {})
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if finder is not imports._finder])
    yield imports.MODULE_STAND_INS
    imports.disable_stand_ins()


def test_a_missing_package_has_a_stand_in(package: str, stand_ins: dict[str, str]) -> None:
    stand_ins["package_nobody_has"] = package
    imports.enable_stand_ins(Rebinder())
    try:
        part = importlib.import_module("package_nobody_has.part")
        assert part.ANSWER == 42
        assert importlib.import_module("package_nobody_has").VALUE == 1
        with pytest.raises(ModuleNotFoundError, match="other"):
            importlib.import_module("package_nobody_has.other")
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("package_nobody_has.part.deeper")
    finally:
        for name in [n for n in sys.modules if n.startswith("package_nobody_has")]:
            del sys.modules[name]


def test_an_installed_package_gives_way(package: str, stand_ins: dict[str, str]) -> None:
    stand_ins[package] = "cutile_sim.errors"
    imports.enable_stand_ins(Rebinder())
    assert importlib.import_module(package) is errors
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{package}.part")
    imports.disable_stand_ins()
    assert importlib.import_module(package).VALUE == 1


def test_a_package_that_was_imported_before_gives_way(
    package: str, stand_ins: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, part = importlib.import_module(package), importlib.import_module(f"{package}.part")
    program = ModuleType("program_of_test")
    program.xp = real
    monkeypatch.setitem(sys.modules, "program_of_test", program)
    stand_ins[package] = "cutile_sim.errors"
    rebinder = Rebinder()
    imports.enable_stand_ins(rebinder)
    assert program.xp is importlib.import_module(package) is errors
    assert f"{package}.part" not in sys.modules
    rebinder.restore()
    imports.disable_stand_ins()
    assert program.xp is importlib.import_module(package) is real
    assert importlib.import_module(f"{package}.part") is part
