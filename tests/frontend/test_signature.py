"""Arguments to `KernelSignature`, against signatures written by hand with cuTile's public classes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cutile_sim.frontend import infer_signature

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")
from cuda.tile.compilation import (  # noqa: E402
    ArrayConstraint,
    CallingConvention,
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
)

INT32, INT64 = ScalarConstraint(ct.int32), ScalarConstraint(ct.int64)


def array(dtype, ndim, *, index_dtype=ct.int32, alias=False, base=16, **fields):
    return ArrayConstraint(
        dtype,
        ndim,
        index_dtype=index_dtype,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=alias,
        base_addr_divisible_by=base,
        **fields,
    )


VECTOR = array(ct.float32, 1, stride_constant=(1,), shape_divisible_by=(16,))


@pytest.mark.parametrize(
    ("kernel", "arg", "expected"),
    [
        ("one", True, ScalarConstraint(ct.bool_)),
        ("one", 1, INT32),
        ("one", 1.5, ScalarConstraint(ct.float32)),
        ("wide_scalar", 1, INT64),
        ("constant", 1, ConstantConstraint(1)),
        ("constant", True, ConstantConstraint(True)),
        ("constant", -0.0, ConstantConstraint(-0.0)),
        ("constant", math.nan, ConstantConstraint(math.nan)),
        ("constant", (1, (2.0,)), TupleConstraint([ConstantConstraint(1), TupleConstraint([ConstantConstraint(2.0)])])),
        ("one", (), TupleConstraint([])),
        ("one", (1, np.zeros(32, np.float32)), TupleConstraint([INT32, VECTOR])),
        ("pair", (1, 2), TupleConstraint([INT32, ConstantConstraint(2)])),
        ("constants", (1, 2), TupleConstraint([ConstantConstraint(1), ConstantConstraint(2)])),
        (
            "nested",
            (np.zeros(16, np.uint16), (3, 4)),
            TupleConstraint(
                [
                    array(ct.uint16, 1, index_dtype=ct.int64, stride_constant=(1,), shape_divisible_by=(16,)),
                    TupleConstraint([INT64, INT32]),
                ]
            ),
        ),
        ("one", np.zeros(32, np.float32), VECTOR),
        (
            "one",
            np.zeros((64, 64), np.float16)[4:, 8:],
            array(ct.float16, 2, stride_constant=(None, 1), stride_divisible_by=(8, 1)),
        ),
        (
            "one",
            np.zeros(17, np.float32)[1:],
            array(ct.float32, 1, base=1, stride_constant=(1,), shape_divisible_by=(16,)),
        ),
        (
            "one",
            np.broadcast_to(np.float32(0), (4, 1)),
            array(ct.float32, 2, alias=True, shape_constant=(None, 1), stride_divisible_by=(4, 4)),
        ),
        (
            "static_shape",
            np.zeros((3, 5), np.int8),
            array(ct.int8, 2, shape_constant=(3, 5), stride_constant=(None, 1)),
        ),
        (
            "static_stride",
            np.zeros((3, 16), np.int8),
            array(ct.int8, 2, stride_constant=(16, None), shape_divisible_by=(1, 16)),
        ),
        (
            "one",
            [np.zeros(32, np.float32), np.zeros(16, np.float32)],
            ListConstraint(VECTOR, alias_groups=(), elements_may_alias=True),
        ),
        (
            "wide_list",
            [np.zeros(3, np.float32)] * 2,
            ListConstraint(
                array(ct.float32, 1, index_dtype=ct.int64, shape_constant=(3,), stride_constant=(1,)),
                alias_groups=(),
                elements_may_alias=True,
            ),
        ),
    ],
)  # fmt: skip
def test_signature(kernels, kernel, arg, expected):
    signature = infer_signature(getattr(kernels, kernel), (arg,))
    # A launch uses version 1 where version 2 would mean the same; the bytecode does not differ.
    assert signature == KernelSignature([expected], CallingConvention.cutile_python_v2(), kernel)
    assert repr(signature.parameters) == repr((expected,))


def test_signature_of_no_parameters(kernels):
    assert infer_signature(kernels.nothing, ()).parameters == ()
