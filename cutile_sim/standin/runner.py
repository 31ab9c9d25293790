"""Runs a script as `python script.py` would, with launches simulated."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType

from cutile_sim.errors import UsageError
from cutile_sim.standin.activation import install, pass_on
from cutile_sim.standin.frames import chain, outside


def run_script(path: str, args: Sequence[str], *, arch: str | None = None, force: bool = False) -> int:
    """Run a script as `__main__`; returns its exit code, 1 if an exception ends it.

    The exception is printed as Python prints it, without frames of this package. `sys.argv` and `sys.path[0]` are the
    script's, and stay so, and launches stay simulated: the process is the script's from now on. A SystemExit of the
    script passes through.

    Raises UsageError where the script cannot be read, or what `install` raises.
    """
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    install(arch, force=force)
    pass_on(force=force)
    sys.argv = [path, *args]
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    main = ModuleType("__main__")
    main.__file__ = os.path.abspath(path)
    main.__builtins__ = builtins  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    code = _compiled(source, os.path.abspath(path))
    if code is None:
        return 1
    try:
        exec(code, vars(main))
    except SystemExit:
        raise
    except BaseException as error:
        report(error)
        return 1
    return 0


def _compiled(source: bytes, path: str) -> CodeType | None:
    try:
        return compile(source, path, "exec")
    except (SyntaxError, ValueError) as error:
        report(error)
        return None


def report(error: BaseException) -> None:
    """Print an exception by `sys.excepthook`, so that a script's own hook is obeyed, without frames of this package."""
    for each in chain(error):
        each.__traceback__ = outside(each.__traceback__)
    sys.excepthook(type(error), error, error.__traceback__)
