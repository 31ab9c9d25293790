"""What a launch assumes of an array, against what cuTile 1.7.0's own launch code inferred for the same layouts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import I32, I64
from cutile_sim.errors import UsageError, UsageOverflowError
from cutile_sim.frontend.annotations import ArrayRule
from cutile_sim.frontend.arrays import ArrayArg, array_dtype
from cutile_sim.frontend.specialization import specialize, specialize_list

# dtype, shape, strides in elements, offset in the allocation in bytes, then as inferred: may_alias_internally,
# stride_constant, shape_constant, stride_divisible_by, shape_divisible_by, base_addr_divisible_by.
INFERRED = [
    ("float32", (32,), (1,), 0, (False, (1,), (None,), (1,), (16,), 16)),
    ("float32", (32,), (1,), 4, (False, (1,), (None,), (1,), (16,), 1)),
    ("float32", (3, 5), (5, 1), 0, (False, (None, 1), (None, None), (1, 1), (1, 1), 16)),
    ("float32", (3, 8), (8, 1), 16, (False, (None, 1), (None, None), (4, 1), (1, 1), 16)),
    ("float32", (16, 16), (1, 16), 0, (False, (1, None), (None, None), (1, 4), (16, 16), 16)),
    ("float32", (1, 16, 1), (16, 1, 1), 0, (False, (None, 1, 1), (1, None, 1), (4, 1, 1), (1, 16, 1), 16)),
    ("float32", (), (), 0, (False, (), (), (), (), 16)),
    ("float32", (0,), (1,), 0, (False, (1,), (None,), (1,), (16,), 16)),
    ("float32", (4, 0), (1, 1), 0, (False, (1, 1), (None, None), (1, 1), (1, 16), 16)),
    ("float32", (3, 5), (0, 1), 0, (True, (None, 1), (None, None), (4, 1), (1, 1), 16)),
    ("float32", (3, 5), (1, 0), 0, (True, (1, None), (None, None), (1, 4), (1, 1), 16)),
    ("float32", (15, 2), (1, 1), 0, (True, (1, 1), (None, None), (1, 1), (1, 1), 16)),
    ("float32", (2,) * 5, (16, 8, 4, 2, 1), 0, (False, (*(None,) * 4, 1), (None,) * 5, (4, 4, 4, 1, 1), (1,) * 5, 16)),
    ("float32", (1,) * 6, (1,) * 6, 0, (False, (None,) * 6, (None,) * 6, (1,) * 6, (1,) * 6, 16)),
    ("float32", (2,) * 6, (32, 16, 8, 4, 2, 1), 8, (False, (None,) * 6, (None,) * 6, (1,) * 6, (1,) * 6, 1)),
    ("float16", (16, 24), (24, 1), 0, (False, (None, 1), (None, None), (8, 1), (16, 1), 16)),
    ("float16", (16, 20), (20, 1), 0, (False, (None, 1), (None, None), (1, 1), (16, 1), 16)),
    ("bfloat16", (16,), (2,), 2, (False, (None,), (None,), (1,), (16,), 1)),
    ("float64", (8, 6), (6, 1), 0, (False, (None, 1), (None, None), (2, 1), (1, 1), 16)),
    ("float64", (8, 7), (7, 1), 8, (False, (None, 1), (None, None), (1, 1), (1, 1), 1)),
    ("uint8", (48, 48), (48, 1), 0, (False, (None, 1), (None, None), (16, 1), (16, 16), 16)),
    ("uint8", (48, 24), (24, 1), 1, (False, (None, 1), (None, None), (1, 1), (16, 1), 1)),
    ("bool_", (16,), (1,), 0, (False, (1,), (None,), (1,), (16,), 16)),
    ("float8_e5m2", (2, 32), (32, 1), 0, (False, (None, 1), (None, None), (16, 1), (1, 16), 16)),
    ("int64", (16, 16), (32, 2), 0, (False, (None, None), (None, None), (2, 2), (16, 16), 16)),
    ("float32", (1, 1), (7, 9), 0, (False, (None, None), (1, 1), (1, 1), (1, 1), 16)),
]


def placed(dtype_name, shape, strides_elems, offset_bytes=0, name="x"):
    """An array argument of that layout, in an allocation at an address that host memory might have."""
    dtype = array_dtype(dtype_name)
    assert dtype is not None
    base_address = 0x7F0000000010 + 8 * 16
    return ArrayArg(
        name,
        dtype.element,
        dtype.name,
        base_address + offset_bytes,
        shape,
        strides_elems,
        0,
        True,
        base_address,
        1 << 40,
        None,
    )


def constraint(dtype, fields):
    """The inferred fields as the public class keeps them: a divisor of a constant is redundant."""
    ct = pytest.importorskip("cuda.tile")
    from cuda.tile.compilation import ArrayConstraint

    alias, stride_constant, shape_constant, stride_divisible_by, shape_divisible_by, base = fields
    return ArrayConstraint(
        getattr(ct, dtype),
        len(stride_constant),
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=alias,
        stride_constant=stride_constant,
        shape_constant=shape_constant,
        stride_divisible_by=stride_divisible_by,
        shape_divisible_by=shape_divisible_by,
        base_addr_divisible_by=base,
    )


def built(description):
    from cutile_sim.frontend.signature import build_signature

    return build_signature((description,), "k").parameters[0]


@pytest.mark.cutile
@pytest.mark.parametrize(("dtype", "shape", "strides", "offset_bytes", "fields"), INFERRED)
def test_as_cutile_infers(dtype, shape, strides, offset_bytes, fields):
    expected = constraint(dtype, fields)
    assert built(specialize(placed(dtype, shape, strides, offset_bytes), ArrayRule()).description) == expected


@pytest.mark.parametrize(("bits", "index"), [(32, I32), (64, I64)])
def test_shape_then_strides_are_parameters(bits, index):
    params = specialize(placed("float32", (3, 5), (5, 1)), ArrayRule(bits)).index_params
    assert [(p.value, p.element) for p in params] == [(n, index) for n in (3, 5, 5, 1)]


@pytest.mark.parametrize(
    ("shape", "strides", "text"),
    [((2**31,), (1,), "shape is too big"), ((2, 2), (2**31, 1), "stride is too big")],
)
def test_numbers_that_need_wide_indices(shape, strides, text):
    with pytest.raises(UsageOverflowError, match=rf"{text}: annotate .*IndexedWithInt64 \(parameter 'x'\)"):
        specialize(placed("float32", shape, strides), ArrayRule())
    assert specialize(placed("float32", shape, strides), ArrayRule(64)).description.index_bits == 64


def test_annotated_axes_replace_inferred_constants():
    description = specialize(placed("float32", (1, 4), (4, 1)), ArrayRule(32, (0, -1), (0,))).description
    assert (description.shape_constant, description.stride_constant) == ((1, 4), (4, None))


@pytest.mark.parametrize(
    ("shape", "rule", "text"),
    [
        ((), ArrayRule(32, (0, -1)), "static_shape_dims contains axis 0 but array rank is 0"),
        ((3,), ArrayRule(32, (0, -1)), "static_shape_dims contains duplicate axis -1"),
        ((3,), ArrayRule(32, (), (1,)), "static_stride_dims contains axis 1 but array rank is 1"),
        ((3,), ArrayRule(32, (-2,)), "static_shape_dims contains axis -1 but array rank is 1"),
    ],
)
def test_annotations_that_do_not_fit(shape, rule, text):
    with pytest.raises(UsageError, match=text):
        specialize(placed("float32", shape, (1,) * len(shape)), rule)


def test_list_is_specialized_for_what_holds_of_all():
    arrays = [placed("float32", (16, 4), (4, 1)), placed("float32", (32, 5), (5, 1), 4)]
    description, each = specialize_list(arrays, ArrayRule())
    assert description.stride_constant == (None, 1) and description.shape_constant == (None, None)
    assert description.shape_divisible_by == (16, 1) and description.stride_divisible_by == (1, 1)
    assert description.base_addr_divisible_by == 1 and not description.may_alias_internally
    assert [p.value for p in each[1].index_params] == [32, 5, 5, 1]


def test_list_of_single_elements():
    assert specialize_list([placed("float32", (1,), (1,))] * 2, ArrayRule())[0].shape_constant == (1,)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (ArrayRule(32, (0,)), r"Arrays in list vary in static shape at axis 0 \(4 vs 5\) \(parameter 'x\[1\]'\)"),
        (ArrayRule(32, (), (-1,)), r"Arrays in list vary in static stride at axis 0 \(1 vs 2\)"),
    ],
)
def test_list_that_varies_in_what_is_static(rule, text):
    with pytest.raises(UsageError, match=text):
        specialize_list([placed("float32", (4,), (1,)), placed("float32", (5,), (2,), name="x[1]")], rule)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), max_size=3))
def test_disjoint_elements_never_meet(axes):
    shape, strides = tuple(n for n, _ in axes), tuple(s for _, s in axes)
    description = specialize(placed("float32", shape, strides), ArrayRule()).description
    offsets = {
        sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*map(range, shape))
    }
    if not description.may_alias_internally:
        assert len(offsets) == math.prod(shape)


@settings(max_examples=100)
@given(
    st.sampled_from(["uint8", "float16", "float32", "float64"]),
    st.lists(st.tuples(st.integers(0, 64), st.integers(0, 64)), min_size=1, max_size=5),
    st.integers(0, 8),
)
def test_assumptions_hold(dtype, axes, offset_elems):
    array = placed(dtype, tuple(n for n, _ in axes), tuple(s for _, s in axes))
    size_bytes = np.dtype(dtype).itemsize
    array.address += offset_elems * size_bytes
    d = specialize(array, ArrayRule()).description
    assert array.offset_bytes % d.base_addr_divisible_by == 0
    for numbers, constants, divisors in (
        (array.shape, d.shape_constant, d.shape_divisible_by),
        (array.strides_elems, d.stride_constant, d.stride_divisible_by),
    ):
        assert all(c in (None, n) for n, c in zip(numbers, constants, strict=True))
        assert all(n % by == 0 for n, by in zip(numbers, divisors, strict=True))
