"""`KernelSignature.from_kernel_args` without a driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutile_sim.errors import UsageTypeError
from cutile_sim.frontend.annotations import Annotation, EachItem, Items, Leaf, kernel_parameters
from cutile_sim.frontend.binding import Description, ListDescription, TupleDescription, bind
from cutile_sim.frontend.cutile import cuda_tile
from cutile_sim.frontend.signature import build_signature
from cutile_sim.frontend.specialization import ArrayDescription
from cutile_sim.standin.arguments import device_arguments

_FIRST_WITH_STATIC_SHAPES = 2


def from_kernel_args(
    kernel: Any, kernel_args: Sequence[Any], calling_convention: Any, *, symbol: str | None = None
) -> Any:
    """The signature that a launch with these arguments would compile the kernel for.

    Raises UsageError and its subclasses for wrong arguments, as a launch does.
    """
    compilation = cuda_tile().compilation
    if not isinstance(calling_convention, compilation.CallingConvention):
        raise UsageTypeError(f"argument 3 must be a CallingConvention, not {type(calling_convention).__name__}")
    parameters = kernel_parameters(kernel)
    with device_arguments(tuple(kernel_args)) as args:
        descriptions = bind(args, parameters).signature
    if calling_convention.version < _FIRST_WITH_STATIC_SHAPES:
        pairs = zip(descriptions, parameters.annotations, strict=True)
        descriptions = tuple(_without_inferred_shapes(description, annotation) for description, annotation in pairs)
    constraints = build_signature(descriptions, parameters.function_name).parameters
    signature = compilation.KernelSignature(constraints, calling_convention, symbol)
    return signature if symbol is not None else signature.with_mangled_symbol(parameters.function_name)


def _without_inferred_shapes(description: Description, annotation: Annotation) -> Description:
    """A description for the first calling convention, which takes no length of 1 for a constant by itself."""
    if isinstance(description, TupleDescription):
        return TupleDescription(
            tuple(
                _without_inferred_shapes(item, _item_annotation(annotation, index))
                for index, item in enumerate(description.items)
            )
        )
    if not isinstance(annotation, Leaf):
        return description
    if isinstance(description, ListDescription):
        static = annotation.list_element.static_shape_dims
        return description if static else ListDescription(_without_shape(description.element))
    if isinstance(description, ArrayDescription) and not annotation.array.static_shape_dims:
        return _without_shape(description)
    return description


def _item_annotation(annotation: Annotation, index: int) -> Annotation:
    if isinstance(annotation, Items):
        return annotation.items[index]
    return annotation.item if isinstance(annotation, EachItem) else annotation


def _without_shape(description: ArrayDescription) -> ArrayDescription:
    return description._replace(shape_constant=(None,) * description.ndim)
