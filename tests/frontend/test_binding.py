"""Arguments of every kind become flat parameters, and wrong ones are refused in the words of cuTile's launch."""

from __future__ import annotations

import collections
import enum
import math

import ml_dtypes
import numpy as np
import pytest

from cutile_sim.dtypes import F32, I1, I32, I64
from cutile_sim.errors import UsageError, UsageOverflowError, UsageTypeError
from cutile_sim.frontend import ListBuffer, PointerParam, ScalarParam, launch_params

pytestmark = pytest.mark.cutile


class Number(enum.IntEnum):
    SEVEN = 7


class Color(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


def flat(params):
    """Parameters as plain values: an array stands for a pointer to it."""
    return [p.array.keepalive if isinstance(p, PointerParam) else p for p in params]


@pytest.mark.parametrize(
    ("kernel", "arg", "value", "element"),
    [
        ("one", True, True, I1),
        ("one", 5, 5, I32),
        ("one", -(2**31), -(2**31), I32),
        ("one", Number.SEVEN, 7, I32),
        ("one", 0.1, float(np.float32(0.1)), F32),
        ("one", np.float64(0.1), float(np.float32(0.1)), F32),
        ("one", 1e300, math.inf, F32),
        ("wide_scalar", 2**63 - 1, 2**63 - 1, I64),
        ("wide_scalar", False, False, I1),
        ("wide_scalar", 1.5, 1.5, F32),
    ],
)
def test_scalars(kernels, kernel, arg, value, element):
    [param] = launch_params(getattr(kernels, kernel), (arg,))
    assert param == ScalarParam(value, element) and type(param.value) is type(value)


def test_float_that_is_no_number(kernels):
    [param] = launch_params(kernels.one, (math.nan,))
    assert isinstance(param, ScalarParam) and math.isnan(param.value)


@pytest.mark.parametrize(("kernel", "index"), [("one", I32), ("wide_index", I64)])
def test_array_is_pointer_shape_strides(kernels, kernel, index):
    array = np.zeros((3, 4), np.float32)
    pointer, *numbers = launch_params(getattr(kernels, kernel), (array,))
    assert isinstance(pointer, PointerParam) and pointer.array.keepalive is array and pointer.array.name == "x"
    assert numbers == [ScalarParam(n, index) for n in (3, 4, 4, 1)]


def test_array_without_axes_is_a_pointer(kernels):
    assert len(launch_params(kernels.one, (np.zeros(()),))) == 1


@pytest.mark.parametrize("arg", [1, True, 2.5, -(2**63), 2**64 - 1, (1, (2.0, False)), ()])
def test_constants_are_no_parameters(kernels, arg):
    assert launch_params(kernels.constant, (arg,)) == []


def test_tuples_are_flattened(kernels):
    array = np.zeros(2, np.int8)
    params = launch_params(kernels.one, ((1, (array, (True,)), ()),))
    assert flat(params) == [
        ScalarParam(1, I32),
        array,
        ScalarParam(2, I32),
        ScalarParam(1, I32),
        ScalarParam(True, I1),
    ]
    assert isinstance(params[1], PointerParam) and params[1].array.name == "x[1][0]"


def test_annotations_of_tuple_items(kernels):
    assert launch_params(kernels.pair, ((3, 4),)) == [ScalarParam(3, I32)]
    assert launch_params(kernels.constants, ((3, 4, 5),)) == []
    array = np.zeros(2, np.int8)
    params = launch_params(kernels.nested, ((array, (2**40, 1)),))
    assert flat(params)[1:] == [ScalarParam(n, e) for n, e in ((2, I64), (1, I64), (2**40, I64), (1, I32))]
    # A tuple passes its own annotation on to its items.
    assert launch_params(kernels.wide_scalar, ((2**40,),)) == [ScalarParam(2**40, I64)]


def test_list_is_a_buffer_and_a_length(kernels):
    arrays = [np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32)]
    buffer, length = launch_params(kernels.one, (arrays,))
    assert length == ScalarParam(2, I32)
    assert isinstance(buffer, ListBuffer) and len(buffer.words) == 10
    assert [w if isinstance(w, int) else w.keepalive for w in buffer.words[5:]] == [arrays[1], 4, 5, 5, 1]
    assert buffer.words[0].name == "x[0]"


@pytest.mark.parametrize(
    ("kernel", "args", "error", "text"),
    [
        ("nothing", (1,), UsageTypeError, "Kernel expects 0 arguments but 1 was given"),
        ("one", (), UsageTypeError, "Kernel expects 1 argument but 0 were given: its parameters are x"),
        ("two", (1,), UsageTypeError, "Kernel expects 2 arguments but 1 was given: its parameters are x, y"),
        ("one", (None,), UsageTypeError, "Invalid kernel argument #0: Objects of type 'NoneType' are not supported"),
        ("two", (1, "s"), UsageTypeError, "Invalid kernel argument #1: Objects of type 'str' .* parameter 'y'"),
        ("one", (Color.RED,), UsageTypeError, "Objects of type 'Color' are not supported"),
        ("one", (np.int32(3),), UsageTypeError, r"Objects of type 'numpy.int32' .* pass x.item\(\)"),
        ("one", (np.bool_(True),), UsageTypeError, "Objects of type 'numpy.bool"),
        ("one", (ml_dtypes.bfloat16(1),), UsageTypeError, "are not supported"),
        ("one", ((1, (object(),)),), UsageTypeError, "Invalid item #0 of item #1 of kernel argument #0: Objects of"),
        ("one", (Point(1, 2),), UsageTypeError, "'Point' is a subclass of 'tuple'. Only plain tuples are accepted"),
        ("one", (2**31,), UsageOverflowError, "too large to convert to C int32_t .* annotate it as ct.ScalarInt64"),
        ("one", (2**63,), UsageOverflowError, r"too large to convert to C int32_t \(parameter 'x' is \d+\)"),
        ("wide_scalar", (2**63,), UsageOverflowError, "too large to convert to C int64_t"),
        ("constant", (2**64,), UsageOverflowError, "Python int too large to convert to C unsigned long"),
        ("constant", (-(2**63) - 1,), UsageOverflowError, "can't convert negative value to unsigned int"),
        ("constant", ("s",), UsageTypeError, "#0: Could not interpret object of type 'str' as a constant. Param"),
        ("constant", (np.zeros(3),), UsageTypeError, "Could not interpret object of type 'numpy.ndarray' as a"),
        ("constant", ((1, [2]),), UsageTypeError, "Invalid item #1 of kernel argument #0: Could not interpret"),
        ("pair", (1,), UsageTypeError, "Received a non-tuple argument for a parameter annotated as a tuple"),
        ("pair", ((1, 2, 3),), UsageTypeError, "Received a tuple of length 3 for a parameter annotated as a tuple of"),
        ("one", ([],), UsageTypeError, "Empty lists are not supported as kernel arguments"),
        ("one", ([1, 2],), UsageTypeError, "Expected list items to be arrays, got int"),
        ("one", ([np.zeros(3), None],), UsageTypeError, "Invalid list item #1: unsupported object type 'NoneType'"),
        ("one", ([np.zeros(3), np.zeros(3, int)],), UsageTypeError, "Arrays in list vary in data type: 'x.0.' is"),
        ("one", ([np.zeros(3), np.zeros((3, 3))],), UsageTypeError, "Arrays in list vary in rank"),
        ("wide_list", ([np.zeros(4), np.zeros(5)],), UsageError, r"vary in static shape at axis 0 \(4 vs 5\)"),
        ("one", ([np.zeros(3), np.zeros(3)[::-1]],), UsageError, r"parameter 'x\[1\]': the array has negative strides"),
    ],
)  # fmt: skip
def test_wrong_arguments(kernels, kernel, args, error, text):
    with pytest.raises(error, match=text):
        launch_params(getattr(kernels, kernel), args)


def test_errors_are_those_of_a_launch(kernels):
    with pytest.raises(TypeError):
        launch_params(kernels.one, ())
    with pytest.raises(OverflowError):
        launch_params(kernels.one, (2**31,))


def test_nesting_has_a_limit(kernels):
    deep: tuple = ()
    for _ in range(63):
        deep = (deep,)
    assert launch_params(kernels.one, (deep,)) == []
    with pytest.raises(UsageError, match="Argument nesting exceeds maximum depth of 64"):
        launch_params(kernels.one, ((deep,),))


def test_only_kernels_can_be_launched():
    for value in (len, None, 3, []):
        with pytest.raises(UsageTypeError, match="is not a kernel: decorate the function with @"):
            launch_params(value, ())
