"""The kernel signature that cuTile's launch would infer, for arrays that lie in GPU memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from cutile_sim.frontend.annotations import KernelParameters, kernel_parameters
from cutile_sim.frontend.binding import (
    ConstantDescription,
    Description,
    ListDescription,
    ScalarDescription,
    TupleDescription,
    bind,
)
from cutile_sim.frontend.cutile import cuda_tile
from cutile_sim.frontend.specialization import ArrayDescription


def infer_signature(kernel: Any, args: Sequence[Any]) -> Any:
    """The `cuda.tile.compilation.KernelSignature` for a launch of the kernel with these arguments.

    Its symbol is the name of the kernel's function. Raises UsageError and its subclasses for wrong arguments.
    """
    parameters = kernel_parameters(kernel)
    return build_signature(bind(args, parameters).signature, parameters.function_name)


def build_signature(descriptions: tuple[Description, ...], symbol: str) -> Any:
    """The `KernelSignature` of described parameters."""
    compilation = cuda_tile().compilation
    return compilation.KernelSignature(
        [_constraint(description) for description in descriptions],
        compilation.CallingConvention.cutile_python_v2(),
        symbol,
    )


def flat_names(parameters: KernelParameters, descriptions: tuple[Description, ...]) -> tuple[str, ...]:
    """What each flat parameter is, in order: `x`, `x.shape[0]`, `x.strides[0]`, `items`, `len(items)`, `pair[1]`."""
    names: list[str] = []
    for name, description in zip(parameters.names, descriptions, strict=True):
        _append_names(name, description, names)
    return tuple(names)


def _append_names(name: str, description: Description, names: list[str]) -> None:
    if isinstance(description, TupleDescription):
        for index, item in enumerate(description.items):
            _append_names(f"{name}[{index}]", item, names)
    elif isinstance(description, ArrayDescription):
        names.append(name)
        names.extend(f"{name}.{part}[{axis}]" for part in ("shape", "strides") for axis in range(description.ndim))
    elif isinstance(description, ListDescription):
        names.extend((name, f"len({name})"))
    elif isinstance(description, ScalarDescription):
        names.append(name)


def _constraint(description: Description) -> Any:
    ct = cuda_tile()
    compilation = ct.compilation
    if isinstance(description, TupleDescription):
        return compilation.TupleConstraint([_constraint(item) for item in description.items])
    if isinstance(description, ConstantDescription):
        value = description.value
        return compilation.ConstantConstraint(struct.unpack("=d", value)[0] if isinstance(value, bytes) else value)
    if isinstance(description, ScalarDescription):
        return compilation.ScalarConstraint(getattr(ct, description.dtype_name))
    if isinstance(description, ListDescription):
        return compilation.ListConstraint(_constraint(description.element), alias_groups=(), elements_may_alias=True)
    return compilation.ArrayConstraint(
        getattr(ct, description.dtype_name),
        description.ndim,
        index_dtype=ct.int32 if description.index_bits == 32 else ct.int64,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=description.may_alias_internally,
        stride_constant=description.stride_constant,
        shape_constant=description.shape_constant,
        stride_divisible_by=description.stride_divisible_by,
        shape_divisible_by=description.shape_divisible_by,
        base_addr_divisible_by=description.base_addr_divisible_by,
    )
