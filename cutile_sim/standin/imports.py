"""Acts when other people's modules are imported: after torch or cuda.tile, and in place of a package."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from cutile_sim.standin.rebind import Rebinder

MODULE_STAND_INS: dict[str, str] = {"cupy": "cutile_sim.standin.cupy"}
"""Packages that have a stand-in: name of the package, name of our module that takes its place."""

_hidden: dict[str, ModuleType] = {}


def after_import(module_name: str, action: Callable[[ModuleType], None]) -> None:
    """Call `action(module)` once: now if the module is loaded, else right after it has been executed."""
    module = sys.modules.get(module_name)
    if module is not None and not _is_being_executed(module):
        action(module)
        return
    _watcher.actions.setdefault(module_name, []).append(action)
    if _watcher not in sys.meta_path:
        sys.meta_path.insert(0, _watcher)


def forget(module_name: str, action: Callable[[ModuleType], None]) -> None:
    """Take back an `after_import` that has not happened yet."""
    actions = _watcher.actions.get(module_name, [])
    if action in actions:
        actions.remove(action)


def enable_stand_ins(rebinder: Rebinder) -> None:
    """Let the packages of `MODULE_STAND_INS` be imported, whether they are installed or not.

    One that has been imported already gives way in `sys.modules`, and in the globals that name the package itself.
    """
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in MODULE_STAND_INS and not _is_own(module):
            _hidden[name] = sys.modules.pop(name)
    for name, own in MODULE_STAND_INS.items():
        if name in _hidden:
            rebinder.replace(_hidden[name], importlib.import_module(own))


def disable_stand_ins() -> None:
    """Undo `enable_stand_ins`, and forget the stand-ins that were imported."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in MODULE_STAND_INS and _is_own(module):
            del sys.modules[name]
    sys.modules.update(_hidden)
    _hidden.clear()


def _is_own(module: ModuleType) -> bool:
    return getattr(module, "__name__", "").partition(".")[0] == "cutile_sim"


def _is_being_executed(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


class _Watcher(importlib.abc.MetaPathFinder):
    """Lets the other finders find a module, and wraps its loader."""

    def __init__(self) -> None:
        self.actions: dict[str, list[Callable[[ModuleType], None]]] = {}
        self._searching = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not self.actions.get(fullname) or getattr(self._searching, "name", None) == fullname:
            return None
        self._searching.name = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.name = None
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, self.actions.pop(fullname))
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, actions: list[Callable[[ModuleType], None]]) -> None:
        self._loader = loader
        self._actions = actions

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Whoever asks the module for its loader (inspect, pkgutil) must find the real one.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        for action in self._actions:
            action(module)


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The first finder, before those of what is installed. `cupy.cuda` is our stand-in's module `cuda`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top, dot, rest = fullname.partition(".")
        own = MODULE_STAND_INS.get(top)
        if own is None or not _exists(own + dot + rest):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        top, dot, rest = spec.name.partition(".")
        return importlib.import_module(MODULE_STAND_INS[top] + dot + rest)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the stand-in was executed under its own name."""


def _exists(module_name: str) -> bool:
    try:
        return importlib.util.find_spec(module_name) is not None
    except ModuleNotFoundError:  # the parent is a module, not a package
        return False


_watcher = _Watcher()
_finder = _StandInFinder()
