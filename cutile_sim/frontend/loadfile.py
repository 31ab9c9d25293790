"""Kernels out of files: a Python file with `@ct.kernel` functions, or exported Tile IR bytecode."""

from __future__ import annotations

import difflib
import importlib.util
import itertools
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cutile_sim.errors import UsageError
from cutile_sim.frontend.cutile import annotated_function, cuda_tile
from cutile_sim.tileir.core import Location

if TYPE_CHECKING:
    from cutile_sim.tileir.core import Module

BYTECODE_SUFFIX = ".tileirbc"
_serial = itertools.count()


@dataclass(frozen=True, eq=False)
class KernelFile:
    """An executed Python file.

    Attributes:
        path: The file.
        module: What executing it left behind.
        kernels: Its kernels by name, in the order of the file; those it imports only if it defines none.
    """

    path: Path
    module: ModuleType
    kernels: dict[str, Any]

    @property
    def inputs(self) -> Callable[..., Any] | None:
        """The file's function `inputs()`, which makes arguments for a launch; None if it has none."""
        function = getattr(self.module, "inputs", None)
        return function if callable(function) else None


def load_file(path: str | Path) -> KernelFile:
    """Execute a Python file as a module of its own, not as `__main__`, and find its kernels.

    The file's folder is on `sys.path` meanwhile, so that it can import its neighbours. Raises UsageError if there is
    no such file, if it is no Python file, or if executing it fails, with the line of the file that failed.
    """
    path = _existing(path)
    if path.suffix != ".py":
        raise UsageError(f"{path} is neither a Python file (.py) nor Tile IR bytecode ({BYTECODE_SUFFIX})")
    kernel_class = cuda_tile(path.name).kernel
    module = _execute(path)
    kernels = {name: value for name, value in vars(module).items() if isinstance(value, kernel_class)}
    own = {
        name: kernel
        for name, kernel in kernels.items()
        if annotated_function(kernel).pyfunc.__module__ == module.__name__
    }
    return KernelFile(path, module, _without_aliases(own or kernels))


def load_kernels(path: str | Path) -> dict[str, Any]:
    """The kernels of a Python file by name. Raises UsageError, as `load_file` does."""
    return load_file(path).kernels


def select(path_spec: str | Path) -> Any:
    """The kernel that `FILE.py` or `FILE.py::KERNEL` names, or the decoded `Module` of a `.tileirbc` file.

    Raises UsageError for a file that cannot be loaded, has no kernel, has several and none is named, or has none of
    that name; DecodeError for damaged bytecode.
    """
    file, _, kernel_name = str(path_spec).partition("::")
    path = _existing(file)
    if path.suffix == BYTECODE_SUFFIX:
        return _select_function(_decode(path), path, kernel_name)
    return select_kernel(load_file(path), kernel_name)


def select_kernel(file: KernelFile, kernel_name: str = "") -> Any:
    """The kernel of that name, or the only one of the file. Raises UsageError, as `select` does."""
    kernels = file.kernels
    if not kernels:
        raise UsageError(f"{file.path} has no kernel: no function in it is decorated with @cuda.tile.kernel")
    if kernel_name:
        if kernel_name not in kernels:
            raise _unknown_kernel(file.path, kernel_name, list(kernels))
        return kernels[kernel_name]
    if len(kernels) > 1:
        first = next(iter(kernels))
        raise UsageError(
            f"{file.path} has several kernels ({', '.join(kernels)}): name one, as in {file.path.name}::{first}"
        )
    return next(iter(kernels.values()))


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a Python file or a {BYTECODE_SUFFIX} file")
    if not path.exists():
        near = difflib.get_close_matches(path.name, _names_in(path.parent), n=1)
        raise UsageError(f"there is no file {path}" + (f"; did you mean {path.parent / near[0]}?" if near else ""))
    return path


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir() if entry.suffix in (".py", BYTECODE_SUFFIX)]
    except OSError:
        return []


def _without_aliases(kernels: dict[str, Any]) -> dict[str, Any]:
    """One name for each kernel object, the first."""
    names: dict[int, str] = {}
    for name, kernel in kernels.items():
        names.setdefault(id(kernel), name)
    return {name: kernels[name] for name in names.values()}


def _unknown_kernel(path: Path, kernel_name: str, names: list[str]) -> UsageError:
    near = difflib.get_close_matches(kernel_name, names, n=1)
    advice = f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}"
    return UsageError(f"{path} has no kernel {kernel_name}; {advice}")


def _decode(path: Path) -> Module:
    from cutile_sim.tileir.decode import decode

    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    return decode(content)


def _select_function(module: Module, path: Path, kernel_name: str) -> Module:
    names = [function.name for function in module.functions if function.is_entry]
    if kernel_name and kernel_name not in names:
        raise _unknown_kernel(path, kernel_name, names)
    return module


def _execute(path: Path) -> ModuleType:
    name = f"cutile_sim_file_{next(_serial)}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # A file that was changed since its last use must be shown as it is now.
    linecache.checkcache(str(path.resolve()))
    # Dataclasses and annotations look their module up by name, as long as it lives.
    sys.modules[name] = module
    try:
        with _on_sys_path(str(path.resolve().parent)):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _failure(path, error) from error
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _on_sys_path(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        # The file may have put entries of its own in front.
        if folder in sys.path:
            sys.path.remove(folder)


def _failure(path: Path, error: BaseException) -> UsageError:
    """What went wrong while a file was executed, at the innermost line of that file."""
    resolved = str(path.resolve())
    message = str(error) or "no reason given"
    location = None
    if isinstance(error, SyntaxError) and error.filename:
        # Python counts characters here, a location UTF-8 bytes.
        before = (error.text or "")[: max((error.offset or 1) - 1, 0)]
        location = Location(error.filename, error.lineno or 0, len(before.encode()) + 1)
        message = error.msg
    else:
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == resolved:
                offset_bytes = getattr(frame, "colno", None)  # Python 3.11 is the first to know
                column = 0 if offset_bytes is None else offset_bytes + 1
                function = "" if frame.name == "<module>" else frame.name
                location = Location(resolved, frame.lineno or 0, column, function)
    if isinstance(error, SystemExit):
        return UsageError(
            f"{path} ends the program while it is loaded ({message}):"
            ' put what must not run on import under if __name__ == "__main__"',
            location=location,
        )
    return UsageError(f"{path} cannot be loaded: {type(error).__name__}: {message}", location=location)
