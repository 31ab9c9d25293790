"""Puts one object in the place of another wherever loaded modules name it, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

Wanted = Callable[[str], bool]


def _everywhere(module_name: str) -> bool:
    return True


class Rebinder:
    """Replacements of module globals by identity: also where a program has done `from module import name` before.

    Class attributes, closures and default arguments are not reached. `restore` also undoes what modules have imported
    since, because it looks for the replacements.
    """

    def __init__(self) -> None:
        self._pairs: list[tuple[Any, Any, Wanted]] = []
        self._attributes: list[tuple[Any, str, Any]] = []

    def replace(self, original: Any, replacement: Any, wanted: Wanted = _everywhere) -> None:
        """Rebind each global that is `original`, in modules whose name is `wanted`."""
        self._pairs.append((original, replacement, wanted))
        _rebind([(original, replacement)], wanted)

    def replace_all(self, pairs: Iterable[tuple[Any, Any]], wanted: Wanted = _everywhere) -> None:
        """`replace` for several pairs in one walk over the modules."""
        pairs = list(pairs)
        self._pairs.extend((original, replacement, wanted) for original, replacement in pairs)
        _rebind(pairs, wanted)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a module or a class until `restore`."""
        self._attributes.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def restore(self) -> None:
        """Put everything back, latest first."""
        for owner, name, value in reversed(self._attributes):
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._attributes.clear()
        _rebind([(replacement, original) for original, replacement, _ in reversed(self._pairs)], _everywhere)
        self._pairs.clear()


_MISSING = object()


def _rebind(pairs: list[tuple[Any, Any]], wanted: Wanted) -> None:
    replacements = {id(original): (original, replacement) for original, replacement in pairs}
    for module_name, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or not wanted(module_name):
            continue
        if module_name == "cutile_sim" or module_name.startswith("cutile_sim."):
            continue
        namespace = vars(module)
        for name, value in list(namespace.items()):
            found = replacements.get(id(value))
            if found is not None and found[0] is value:
                namespace[name] = found[1]
