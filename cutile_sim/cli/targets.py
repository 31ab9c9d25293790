"""What the commands work on: kernels out of files, with the arguments that the file and the command line give them.

A Python file may hold, beside its kernels, functions that take part (`inputs_NAME` and `check_NAME`, where present,
belong to the kernel NAME alone):

    def inputs():        the arguments: a dict by parameter name, or a tuple or list in their order; a dict may hold the
                         launch grid too, as "grid", unless the kernel has a parameter of that name
    def check(args):     called after a run with all arguments by name; raises AssertionError if the values are wrong

Bytecode names no parameters: its arguments are arg0, arg1, ...; an array counts as one, though it stands for several.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from cutile_sim.api import entry_of
from cutile_sim.cli.output import nearest, wants_json
from cutile_sim.cli.specs import make_arguments
from cutile_sim.errors import CutileSimError, DecodeError, UsageError
from cutile_sim.frontend.loadfile import BYTECODE_SUFFIX, KernelFile, load_file, select, select_kernel
from cutile_sim.source import describe
from cutile_sim.tileir.core import Location, Module

F = TypeVar("F", bound=Callable[..., Any])


def argument_options(command: F) -> F:
    """The options `--arg` and `--seed`."""
    seed = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="For rand: arguments.")
    arg = click.option("--arg", "specs", multiple=True, metavar="NAME=SPEC", help="An argument; see cutile-sim run -h.")
    return arg(seed(command))


class MissingArgumentsError(UsageError):
    """Nothing says what to pass for some parameters."""


class Arguments(NamedTuple):
    """`values` by parameter name, in the kernel's order; `grid` as the file gives it, or None."""

    values: dict[str, Any]
    grid: Any


@dataclass(frozen=True)
class Target:
    """One kernel of a file.

    Attributes:
        label: `FILE::KERNEL`.
        kernel: A `@ct.kernel`, or a module with this one kernel.
        file: The Python file it is from; None for bytecode.
        alone: Whether it is the only kernel of its file, or was named.
    """

    label: str
    name: str
    kernel: Any
    file: KernelFile | None
    alone: bool = True

    @property
    def parameter_names(self) -> tuple[str, ...] | None:
        """None for bytecode, which names none."""
        if self.file is None:
            return None
        from cutile_sim.frontend.annotations import kernel_parameters

        return kernel_parameters(self.kernel).names

    def arguments(self, specs: Sequence[str], seed: int) -> Arguments:
        """Arguments from the file's inputs() and from specifications, which win.

        Raises UsageError for names that the kernel does not have and for bad specifications, MissingArgumentsError
        where a parameter is left without a value.
        """
        given = make_arguments(specs, seed)
        names = self.parameter_names
        if names is None:
            return Arguments(_numbered(given), None)
        for name in given:
            if name not in names:
                raise UsageError(
                    f"kernel {self.name} has no parameter {name!r}{nearest(name, names)};"
                    f" its parameters are {_list(names)}"
                )
        values, grid = self._inputs(names)
        values |= given
        if missing := [name for name in names if name not in values]:
            raise MissingArgumentsError(
                f"kernel {self.name} gets nothing for {_list(missing)}: give --arg {missing[0]}=SPEC, or write"
                f" a function inputs() into the file; its parameters are {_list(names)}"
            )
        return Arguments({name: values[name] for name in names}, grid)

    def _inputs(self, names: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
        """What the file's own function gives: arguments by name, and a grid."""
        function, title = self._function("inputs")
        if function is None:
            return {}, None
        given = self._call(function, title)
        if isinstance(given, (tuple, list)):
            if len(given) == len(names):
                return dict(zip(names, given, strict=True)), None
            problem = f"returns {len(given)} values, but kernel {self.name} takes {len(names)}: {_list(names)}"
        elif isinstance(given, Mapping):
            values = dict(given)
            grid = values.pop("grid", None) if "grid" not in names else None
            unknown = [name for name in values if name not in names]
            if not unknown:
                return values, grid
            problem = f"gives {unknown[0]!r}, which kernel {self.name} does not take; its parameters are {_list(names)}"
        else:
            problem = f"returns {type(given).__name__}: return a dict by parameter name, or a tuple in their order"
        if not self.alone and title == "inputs()":
            return {}, None  # it belongs to another kernel of the file
        raise UsageError(f"{title} in {self.label.partition('::')[0]} {problem}")

    def compile(self, arguments: Arguments, arch: str | None) -> Module:
        """The Tile IR of the kernel for these arguments. Raises UsageError, or cuTile's own errors."""
        if isinstance(self.kernel, Module):
            return self.kernel
        from cutile_sim.frontend.export import compile_kernel

        return compile_kernel(self.kernel, tuple(arguments.values.values()), arch=arch).module

    def run_check(self, values: dict[str, Any]) -> str | None:
        """Call the file's check on the arguments after a run: None if it has none, "" if it passes, else its words."""
        function, title = self._function("check")
        if function is None:
            return None
        try:
            self._call(function, title, values)
        except AssertionError as error:
            where = describe(self._place(error))
            return (str(error).strip() or "the assertion failed") + (f"\n{where}" if where else "")
        return ""

    def _function(self, kind: str) -> tuple[Callable[..., Any] | None, str]:
        """The file's function of that kind for this kernel, with its title for messages."""
        for name in (f"{kind}_{self.name}", kind):
            function = getattr(self.file.module, name, None) if self.file is not None else None
            if callable(function):
                return function, f"{name}()"
        return None, ""

    def _call(self, function: Callable[..., Any], title: str, *args: Any) -> Any:
        try:
            with foreign_code():
                return function(*args)
        except (CutileSimError, AssertionError):
            raise
        except Exception as error:
            reason = f"{title} raised {type(error).__name__}: {error}"
            raise UsageError(reason, location=self._place(error)) from error

    def _place(self, error: Exception) -> Location | None:
        """The innermost line of the kernel's file that an error passed through."""
        path = str(getattr(self.file.module if self.file else None, "__file__", ""))
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        return Location(path, frames[-1].lineno or 0, 0, frames[-1].name) if frames else None


@contextmanager
def foreign_code() -> Iterator[None]:
    """While code of the user's file runs: what it prints must not get into the JSON."""
    if not wants_json():
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def open_one(text: str) -> Target:
    """The kernel that `FILE` or `FILE::KERNEL` names. Raises UsageError where that is none, or more than one."""
    file, _, kernel_name = text.partition("::")
    if Path(file).suffix == BYTECODE_SUFFIX:
        return _bytecode_target(file, _decode(text, file), kernel_name or None)
    with foreign_code():
        loaded = load_file(file)
    kernel = select_kernel(loaded, kernel_name)
    name = next(name for name, value in loaded.kernels.items() if value is kernel)
    return Target(f"{file}::{name}", name, kernel, loaded)


def open_all(text: str) -> list[Target]:
    """All kernels of a file, or the one that `FILE::KERNEL` names. Raises UsageError for a file without any."""
    file, _, kernel_name = text.partition("::")
    if kernel_name:
        return [open_one(text)]
    if Path(file).suffix == BYTECODE_SUFFIX:
        module = _decode(file, file)
        names = [function.name for function in module.functions if function.is_entry]
        return [_bytecode_target(file, module, name) for name in names]
    with foreign_code():
        loaded = load_file(file)
    if len(loaded.kernels) < 2:
        return [open_one(text)]
    return [Target(f"{file}::{name}", name, kernel, loaded, alone=False) for name, kernel in loaded.kernels.items()]


def _decode(text: str, file: str) -> Module:
    try:
        module: Module = select(text)
    except DecodeError as error:
        error.reason = f"{file} is no Tile IR bytecode, is damaged, or is newer than this release: {error.reason}"
        raise
    return module


def _bytecode_target(file: str, module: Module, kernel_name: str | None) -> Target:
    entry = entry_of(module, kernel_name)
    return Target(f"{file}::{entry.name}", entry.name, replace(module, functions=(entry,)), None)


def _numbered(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of bytecode in order. Raises UsageError unless they are arg0, arg1, ... without a gap."""
    names = [f"arg{number}" for number in range(len(given))]
    for name in given:
        if name not in names:
            raise UsageError(
                f"--arg {name}: bytecode names no parameters; call its arguments arg0, arg1, ... without a gap"
            )
    return {name: given[name] for name in names}


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
