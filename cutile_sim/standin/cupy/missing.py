"""What the stand-in says about the parts of CuPy that it does not have."""

from __future__ import annotations


def missing_attribute(module: str, name: str) -> AttributeError:
    """The error for a name that a module of the stand-in does not have."""
    if name.startswith("__"):
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    return AttributeError(
        f"{module}.{name} is not in cutile_sim's stand-in for CuPy; compute it with NumPy on cupy.asnumpy of the arrays"
        " and move the result back with cupy.asarray, or run the program on a GPU with CuPy"
    )
