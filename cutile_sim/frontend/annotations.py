"""What a kernel's parameter annotations ask of its arguments, as a small tree that needs no `cuda.tile`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from cutile_sim.frontend.cutile import annotated_function


class ArrayRule(NamedTuple):
    """How an array parameter is passed. A tuple, because it is part of a key that each launch hashes.

    Attributes:
        index_bits: Width of shape and stride parameters, 32 or 64.
        static_shape_dims: Axes whose length becomes a compile-time constant.
        static_stride_dims: Axes whose stride becomes one; if there are any, unit strides are not inferred.
    """

    index_bits: int = 32
    static_shape_dims: tuple[int, ...] = ()
    static_stride_dims: tuple[int, ...] = ()


_DEFAULT_RULE = ArrayRule()


@dataclass(frozen=True, slots=True)
class Leaf:
    """The annotation of a parameter, or of all items of a tuple that has no annotation of its own."""

    constant: bool = False
    scalar_bits: int = 32
    array: ArrayRule = _DEFAULT_RULE
    list_element: ArrayRule = _DEFAULT_RULE


@dataclass(frozen=True, slots=True)
class EachItem:
    """`tuple[T, ...]`: a tuple of any length."""

    item: Annotation


@dataclass(frozen=True, slots=True)
class Items:
    """`tuple[T, U]`: a tuple of this length."""

    items: tuple[Annotation, ...]


Annotation = Leaf | EachItem | Items


@dataclass(frozen=True, slots=True)
class KernelParameters:
    """The parameters of a kernel's Python function, in order."""

    function_name: str
    names: tuple[str, ...]
    annotations: tuple[Annotation, ...]


def kernel_parameters(kernel: Any) -> KernelParameters:
    """The parameters of a kernel. Raises UsageTypeError for anything but a kernel."""
    function = annotated_function(kernel)
    return KernelParameters(
        function.pyfunc.__name__,
        tuple(function.pysig.parameters),
        tuple(_annotation(node) for node in function.parameter_annotations),
    )


def _annotation(node: Any) -> Annotation:
    if node.KIND == "homogeneous_tuple":
        return EachItem(_annotation(node.each))
    if node.KIND == "heterogeneous_tuple":
        return Items(tuple(_annotation(item) for item in node.items))
    return Leaf(
        constant=node.constant,
        scalar_bits=32 if node.scalar is None else node.scalar.dtype.bitwidth,
        array=_array_rule(node.array),
        list_element=_DEFAULT_RULE if node.list is None else _array_rule(node.list.element),
    )


def _array_rule(annotation: Any) -> ArrayRule:
    if annotation is None:
        return _DEFAULT_RULE
    return ArrayRule(
        annotation.index_dtype.bitwidth, tuple(annotation.static_shape_dims), tuple(annotation.static_stride_dims)
    )
