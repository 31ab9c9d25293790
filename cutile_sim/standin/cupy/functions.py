"""The functions that CuPy has under NumPy's names, made from NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from cutile_sim.standin.cupy.arrays import ndarray, on_host, unwrap, wrap

UFUNCS = """
abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_or bitwise_xor cbrt ceil
conj conjugate copysign cos cosh deg2rad degrees divide divmod equal exp exp2 expm1 fabs float_power floor floor_divide
fmax fmin fmod frexp gcd greater greater_equal heaviside hypot invert isfinite isinf isnan lcm ldexp left_shift less
less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor matmul maximum
minimum mod modf multiply negative nextafter not_equal positive power rad2deg radians reciprocal remainder right_shift
rint sign signbit sin sinh spacing sqrt square subtract tan tanh true_divide trunc
"""
ON_ARRAYS = """
all allclose amax amin angle any append apply_along_axis argmax argmin argpartition argsort argwhere around array_equal
array_split atleast_1d atleast_2d atleast_3d average bincount broadcast_arrays broadcast_to choose clip column_stack
compress concatenate convolve copyto corrcoef correlate count_nonzero cov cross cumprod cumsum delete diag diag_indices
diagflat diagonal diff digitize dot dsplit dstack ediff1d einsum expand_dims extract fill_diagonal fix flatnonzero flip
fliplr flipud gradient histogram hsplit hstack i0 imag indices inner interp isclose iscomplex isin isneginf isposinf
isreal ix_ kron lexsort max mean median meshgrid min moveaxis nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax
nanmean nanmedian nanmin nanpercentile nanprod nanstd nansum nanvar nonzero outer packbits pad partition percentile
permute_dims piecewise place prod ptp put put_along_axis putmask quantile ravel real repeat reshape resize roll rollaxis
rot90 round searchsorted select setdiff1d sinc sort split squeeze stack std sum swapaxes take take_along_axis tensordot
tile trace transpose tri tril tril_indices triu triu_indices trim_zeros union1d unique unpackbits unravel_index unwrap
vander var vdot vsplit vstack where
"""
"""Functions of arrays: as in CuPy, no NumPy array among their arguments, and arrays for results."""

CREATION = """
arange empty eye full geomspace hamming hanning identity linspace logspace ones zeros
"""
LIKE = "empty_like full_like ones_like zeros_like"

PLAIN = """
bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intc intp uintc uintp byte ubyte short ushort longlong ulonglong
float16 float32 float64 half single double complex64 complex128 csingle cdouble number integer signedinteger
unsignedinteger inexact floating complexfloating generic
dtype finfo iinfo e euler_gamma inf nan newaxis pi ndim shape size result_type can_cast promote_types common_type
min_scalar_type issubdtype isscalar iscomplexobj isrealobj broadcast_shapes shares_memory may_share_memory
base_repr binary_repr format_float_positional format_float_scientific get_printoptions set_printoptions printoptions
array2string array_repr array_str index_exp s_ ufunc
"""
"""Types, numbers, and functions whose result is no array: these take any arguments."""


def names(text: str) -> Iterable[str]:
    """Those of the words that this NumPy has too."""
    return (name for name in text.split() if hasattr(np, name))


def of_arrays(module: ModuleType, name: str) -> Callable[..., Any]:
    """A function of a NumPy module for arrays of the stand-in."""
    function = getattr(module, name)

    @wraps(function, assigned=("__name__", "__doc__"), updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return on_host(function, *args, **kwargs)

    del call.__wrapped__
    return call


class Ufunc:
    """A NumPy ufunc for arrays of the stand-in: called, or by `reduce`, `accumulate`, `outer`, `at`, `reduceat`."""

    def __init__(self, function: np.ufunc) -> None:
        self._function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return on_host(self._function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._function, name)
        if not callable(value):
            return value
        return lambda *args, **kwargs: on_host(value, *args, **kwargs)


def _like(name: str) -> Callable[..., ndarray]:
    function = getattr(np, name)

    def call(a: ndarray, *args: Any, **kwargs: Any) -> ndarray:
        return wrap(function(unwrap(a, numpy_too=True), *unwrap(args), **kwargs))

    call.__name__ = name
    return call


def _plain(name: str) -> Any:
    value = getattr(np, name)
    if isinstance(value, type) or not callable(value):
        return value

    def call(*args: Any, **kwargs: Any) -> Any:
        return value(*unwrap(args, numpy_too=True), **kwargs)

    call.__name__ = name
    return call


def numpy_functions() -> dict[str, Any]:
    """All of them by name."""
    found: dict[str, Any] = {name: Ufunc(getattr(np, name)) for name in names(UFUNCS)}
    found.update((name, of_arrays(np, name)) for name in names(ON_ARRAYS + CREATION))
    found.update((name, _like(name)) for name in names(LIKE))
    found.update((name, _plain(name)) for name in names(PLAIN))
    return found


def array(
    obj: Any, dtype: Any = None, copy: bool = True, order: Any = "K", subok: bool = False, ndmin: int = 0
) -> ndarray:
    """An array on the simulated GPU with the elements of `obj`: an array, numbers, or nested lists of either.

    Without `copy` it may share the memory of `obj` where that is on the simulated GPU already.
    """
    host = _shared_memory(obj)
    if host is None:
        # A copy: memory of the host is moved to the GPU.
        return wrap(np.array(unwrap(obj, numpy_too=True), dtype, order=order, ndmin=ndmin))
    if copy:
        return wrap(np.array(host, dtype, order=order, ndmin=ndmin))
    if isinstance(obj, ndarray) and host.ndim >= ndmin and dtype in (None, host.dtype) and order in ("K", "A", None):
        return obj
    result = np.asarray(host, dtype, order=order)
    return wrap(result.reshape((1,) * (ndmin - result.ndim) + result.shape))


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, blocking: bool = False
) -> ndarray:
    """`a` as an array on the simulated GPU: itself or its memory where it is there, otherwise a copy."""
    return array(a, dtype, copy=bool(copy), order=order or "K")


def asanyarray(a: Any, dtype: Any = None, order: str | None = None, *, blocking: bool = False) -> ndarray:
    """The same as `asarray`."""
    return asarray(a, dtype, order)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """`a` on the simulated GPU, in row-major order."""
    return wrap(np.ascontiguousarray(asarray(a, dtype)._host))


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """`a` on the simulated GPU, in column-major order."""
    return wrap(np.asfortranarray(asarray(a, dtype)._host))


def copy(a: Any, order: str = "K") -> ndarray:
    """A copy of `a` on the simulated GPU."""
    return array(a, order=order)


def from_dlpack(array: Any, *, device: Any = None, copy: bool | None = None) -> ndarray:
    """The memory of an array that exports DLPack, shared."""
    host = _shared_memory(array)
    if host is None:
        raise TypeError(f"{type(array).__name__} does not export DLPack")
    return wrap(host.copy() if copy else host)


def asnumpy(
    a: Any, stream: Any = None, order: Any = "C", out: np.ndarray | None = None, *, blocking: bool = True
) -> np.ndarray:
    """A NumPy array with the elements of `a`: a copy where `a` is on the simulated GPU."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    host = _shared_memory(a)
    result = np.asarray(a if host is None else host.copy(), order=order)
    if out is None:
        return result
    out[...] = result
    return out


def get_array_module(*args: Any) -> ModuleType:
    """The module that computes with these: CuPy's stand-in if one is its array, otherwise NumPy."""
    import cutile_sim.standin.cupy as package

    return package if any(isinstance(a, ndarray) for a in args) else np


def _shared_memory(obj: Any) -> np.ndarray | None:
    """The memory of an array that is on the simulated GPU, this stand-in's or another library's. None for others."""
    if isinstance(obj, ndarray):
        return obj._host
    if isinstance(obj, np.ndarray | np.generic) or not hasattr(obj, "__dlpack__"):
        return None
    return np.from_dlpack(obj)
