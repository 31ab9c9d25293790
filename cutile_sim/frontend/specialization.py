"""What a launch assumes of an array: the facts of its layout for which a kernel is specialized.

The rules are those of cuTile's own launch, for arrays that lie in GPU memory, where an allocation is aligned to
256 bytes: an address is divisible by 16 if its offset in the allocation is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from cutile_sim.dtypes import I32, I64
from cutile_sim.errors import UsageError, UsageOverflowError
from cutile_sim.frontend.annotations import ArrayRule
from cutile_sim.frontend.arrays import ArrayArg
from cutile_sim.frontend.params import ScalarParam

DIVISOR_BYTES = 16
MAX_SPECIALIZED_NDIM = 5
_INT32 = range(-(2**31), 2**31)


class ArrayDescription(NamedTuple):
    """One array constraint of a kernel signature, in a form that is hashable and costs nothing to build again."""

    dtype_name: str
    ndim: int
    index_bits: int
    may_alias_internally: bool
    base_addr_divisible_by: int
    shape_constant: tuple[int | None, ...]
    stride_constant: tuple[int | None, ...]
    stride_divisible_by: tuple[int, ...]
    shape_divisible_by: tuple[int, ...]


class Facts(NamedTuple):
    """What holds of a layout; each tuple has one entry an axis."""

    base_aligned: bool
    disjoint: bool
    stride_aligned: tuple[bool, ...]
    stride_one: tuple[bool, ...]
    shape_aligned: tuple[bool, ...]
    shape_one: tuple[bool, ...]


class Specialization(NamedTuple):
    """An array's facts, the constraint they amount to, and its shape and stride parameters."""

    facts: Facts
    description: ArrayDescription
    index_params: tuple[ScalarParam, ...]


def specialize(array: ArrayArg, rule: ArrayRule) -> Specialization:
    """The specialization of a kernel for one array argument.

    Raises UsageOverflowError for a length or stride that does not fit the index type, UsageError for an annotation
    that names an axis the array does not have.
    """
    aligned = (array.address - array.base_address) % DIVISOR_BYTES == 0
    size_bytes = array.element.size_bytes
    try:
        return _specialize(array.dtype_name, size_bytes, array.shape, array.strides_elems, aligned, rule)
    except (UsageOverflowError, UsageError) as error:
        raise type(error)(f"{error.reason} (parameter '{array.name}')") from None


def specialize_list(arrays: Sequence[ArrayArg], rule: ArrayRule) -> tuple[ArrayDescription, list[Specialization]]:
    """The one description that all arrays of a list share: what holds of each of them, and each one's own parameters.

    The arrays have one element type and rank. Raises UsageError if they differ in a length or stride that the
    annotation makes static, and what `specialize` raises.
    """
    specializations = [specialize(array, rule) for array in arrays]
    first = arrays[0]
    for array in arrays[1:]:
        _check_agreement(rule.static_shape_dims, first.shape, array.shape, "shape", array.name)
        _check_agreement(rule.static_stride_dims, first.strides_elems, array.strides_elems, "stride", array.name)
    all_facts = [s.facts for s in specializations]
    shared = Facts(
        all(f.base_aligned for f in all_facts),
        all(f.disjoint for f in all_facts),
        *(tuple(map(all, zip(*masks, strict=True))) for masks in zip(*(f[2:] for f in all_facts), strict=True)),
    )
    size_bytes = first.element.size_bytes
    return _describe(first.dtype_name, size_bytes, first.shape, first.strides_elems, shared, rule), specializations


@lru_cache(maxsize=4096)
def _specialize(
    dtype_name: str,
    size_bytes: int,
    shape: tuple[int, ...],
    strides_elems: tuple[int, ...],
    base_aligned: bool,
    rule: ArrayRule,
) -> Specialization:
    if rule.index_bits == 32:
        for what, numbers in (("shape", shape), ("stride", strides_elems)):
            if any(number not in _INT32 for number in numbers):
                raise UsageOverflowError(f"{what} is too big: annotate the parameter as ct.IndexedWithInt64")
    facts = _facts(size_bytes, shape, strides_elems, base_aligned)
    index = I32 if rule.index_bits == 32 else I64
    return Specialization(
        facts,
        _describe(dtype_name, size_bytes, shape, strides_elems, facts, rule),
        tuple(ScalarParam(number, index) for number in shape + strides_elems),
    )


def _facts(size_bytes: int, shape: tuple[int, ...], strides_elems: tuple[int, ...], base_aligned: bool) -> Facts:
    ndim = len(shape)
    if ndim > MAX_SPECIALIZED_NDIM:
        nothing = (False,) * ndim
        return Facts(base_aligned, _is_disjoint(shape, strides_elems), nothing, nothing, nothing, nothing)
    return Facts(
        base_aligned,
        _is_disjoint(shape, strides_elems),
        tuple(stride * size_bytes % DIVISOR_BYTES == 0 for stride in strides_elems),
        tuple(stride == 1 for stride in strides_elems),
        # The divisor of a length counts elements, whatever their size.
        tuple(length % DIVISOR_BYTES == 0 for length in shape),
        tuple(length == 1 for length in shape),
    )


def _is_disjoint(shape: tuple[int, ...], strides_elems: tuple[int, ...]) -> bool:
    """Whether no two indices meet: each stride is positive and clears all of the axis with the next smaller one."""
    axes = sorted(zip(strides_elems, shape, strict=True))
    if axes and axes[0][0] <= 0:
        return False
    return all(stride >= inner_stride * inner_length for (inner_stride, inner_length), (stride, _) in pairwise(axes))


def _describe(
    dtype_name: str,
    size_bytes: int,
    shape: tuple[int, ...],
    strides_elems: tuple[int, ...],
    facts: Facts,
    rule: ArrayRule,
) -> ArrayDescription:
    stride_divisor = DIVISOR_BYTES // size_bytes
    return ArrayDescription(
        dtype_name,
        len(shape),
        rule.index_bits,
        not facts.disjoint,
        DIVISOR_BYTES if facts.base_aligned else 1,
        _constants(rule.static_shape_dims, shape, facts.shape_one, "static_shape_dims"),
        _constants(rule.static_stride_dims, strides_elems, facts.stride_one, "static_stride_dims"),
        tuple(stride_divisor if aligned else 1 for aligned in facts.stride_aligned),
        tuple(DIVISOR_BYTES if aligned else 1 for aligned in facts.shape_aligned),
    )


def _constants(
    static_dims: tuple[int, ...], numbers: tuple[int, ...], ones: tuple[bool, ...], annotation: str
) -> tuple[int | None, ...]:
    """The numbers of the annotated axes; without an annotation, the ones."""
    if not static_dims:
        return tuple(1 if one else None for one in ones)
    constants: list[int | None] = [None] * len(numbers)
    for dim in static_dims:
        axis = _axis(dim, len(numbers), annotation)
        if constants[axis] is not None:
            raise UsageError(f"{annotation} contains duplicate axis {dim}")
        constants[axis] = numbers[axis]
    return tuple(constants)


def _axis(dim: int, ndim: int, annotation: str) -> int:
    axis = dim + ndim if dim < 0 else dim
    if not 0 <= axis < ndim:
        raise UsageError(f"{annotation} contains axis {axis} but array rank is {ndim}")
    return axis


def _check_agreement(
    dims: tuple[int, ...], first: tuple[int, ...], other: tuple[int, ...], what: str, name: str
) -> None:
    for dim in dims:
        axis = _axis(dim, len(first), f"static_{what}_dims")
        if first[axis] != other[axis]:
            raise UsageError(
                f"Arrays in list vary in static {what} at axis {axis} ({first[axis]} vs {other[axis]})"
                f" (parameter '{name}')"
            )
