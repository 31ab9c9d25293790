"""The one door to the `cuda.tile` package, which not every platform has. It is imported at the first need."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from cutile_sim.errors import UsageError, UsageTypeError


def cuda_tile(needed_by: str = "compiling a kernel") -> ModuleType:
    """The `cuda.tile` module, with `cuda.tile.compilation` loaded. Raises UsageError where it cannot be imported."""
    try:
        import cuda.tile
        import cuda.tile.compilation
    except ImportError as error:
        raise UsageError(
            f"{needed_by} needs the cuda-tile package, which has no wheel for this platform; export the kernel to"
            f" .tileirbc on another machine, or install cuda-tile ({error})"
        ) from error
    return cuda.tile


def annotated_function(kernel: Any) -> Any:
    """The Python function of a kernel with its parameters' annotations, resolved by cuTile.

    The only access of this package to an attribute of `cuda.tile` that is not public. Raises UsageTypeError for
    anything but a kernel.
    """
    if not isinstance(kernel, cuda_tile().kernel):
        what = getattr(kernel, "__name__", None) or type(kernel).__name__
        raise UsageTypeError(f"{what} is not a kernel: decorate the function with @cuda.tile.kernel")
    return kernel._annotated_function
