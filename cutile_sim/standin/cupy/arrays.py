"""`cupy.ndarray`: an array "on the GPU" whose memory is a NumPy array's.

It is no `numpy.ndarray`, as CuPy's is none: a program that hands one to NumPy, or mixes the two in one expression, must
fail here as it does with CuPy. Results of reductions and of indexing are arrays of no dimensions, not scalars.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cutile_sim.standin.array_interface import array_interface
from cutile_sim.standin.cupy.cuda.device import Device
from cutile_sim.standin.cupy.cuda.memory import MemoryPointer, UnownedMemory
from cutile_sim.standin.cupy.missing import missing_attribute

_NO_CONVERSION = (
    "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
)
_DLPACK_CPU = 1


class ndarray:
    """An array on the simulated GPU. `ndarray(shape, dtype, memptr, strides, order)` has undetermined elements."""

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]
    _host: np.ndarray

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str | None = "C"
    ) -> None:
        if memptr is None:
            self._host = np.ndarray(shape, dtype, strides=strides, order=_memory_order(order))
        else:
            self._host = np.ndarray(shape, dtype, memptr.bytes_from_here(), strides=strides, order=_memory_order(order))

    @property
    def __cutile_sim_device_array__(self) -> np.ndarray:
        return self._host

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**array_interface(self._host, stream=1), "descr": self._host.dtype.descr}

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return self._host.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_CPU, 0

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(_NO_CONVERSION)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return on_host(getattr(ufunc, method), *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import cutile_sim.standin.cupy as package

        own = package
        for part in [*function.__module__.split(".")[1:], function.__name__]:
            own = getattr(own, part, None)  # type: ignore[assignment]
        if not callable(own):
            raise TypeError(_NO_CONVERSION)
        return own(*args, **kwargs)

    @property
    def data(self) -> MemoryPointer:
        return MemoryPointer(UnownedMemory(self._host.ctypes.data, self._host.nbytes, self._host, 0), 0)

    @property
    def device(self) -> Device:
        return Device(0)

    @property
    def base(self) -> ndarray | None:
        return wrap(self._host.base) if isinstance(self._host.base, np.ndarray) else None

    @property
    def shape(self) -> tuple[int, ...]:
        return self._host.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._host = self._host.reshape(shape, copy=False) if _NUMPY_2_1 else _reshaped_view(self._host, shape)

    @property
    def T(self) -> ndarray:
        return wrap(self._host.T)

    def get(self, stream: Any = None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True) -> Any:
        """A copy of the array as a NumPy array."""
        if out is None:
            return np.array(self._host, order=_memory_order(order))
        if not isinstance(out, np.ndarray):
            raise TypeError("Only numpy.ndarray can be obtained from cupy.ndarray")
        if out.dtype != self.dtype or out.shape != self.shape:
            raise ValueError(f"out is {out.dtype} {out.shape}, but the array is {self.dtype} {self.shape}")
        out[...] = self._host
        return out

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        """Copy a NumPy array of the same shape and type into the array."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype or arr.shape != self.shape:
            raise ValueError(f"cannot set {self.dtype} {self.shape} from {arr.dtype} {arr.shape}")
        self._host[...] = arr

    def __getitem__(self, index: Any) -> ndarray:
        return wrap(self._host[unwrap(index, numpy_too=True)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[unwrap(index, numpy_too=True)] = unwrap(value)

    def __iter__(self) -> Iterator[ndarray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return len(self._host)

    def __repr__(self) -> str:
        return repr(self._host)

    def __str__(self) -> str:
        return str(self._host)

    def __format__(self, spec: str) -> str:
        return format(self._host.item() if spec and not self.ndim else self._host, spec)

    def __bool__(self) -> bool:
        return bool(self._host)

    def __int__(self) -> int:
        return int(self._host.item())

    def __float__(self) -> float:
        return float(self._host.item())

    def __complex__(self) -> complex:
        return complex(self._host.item())

    def __index__(self) -> int:
        return operator.index(self._host)

    def __divmod__(self, other: Any) -> Any:
        return on_host(divmod, self, other)

    def __copy__(self) -> ndarray:
        return wrap(self._host.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> ndarray:
        return wrap(self._host.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self._host,)

    def __getattr__(self, name: str) -> Any:
        raise missing_attribute("cupy.ndarray", name)


def wrap(value: Any) -> Any:
    """What NumPy returned, with arrays and scalars as arrays on the simulated GPU that share the memory."""
    if isinstance(value, np.ndarray | np.generic | bool):
        array = ndarray.__new__(ndarray)
        array._host = np.asarray(value)
        return array
    if isinstance(value, tuple) and type(value) is not tuple:  # a named tuple, such as the result of `linalg.svd`
        return type(value)(*map(wrap, value))
    if isinstance(value, tuple | list):
        return type(value)(map(wrap, value))
    return value


def unwrap(value: Any, *, numpy_too: bool = False) -> Any:
    """Arguments as NumPy takes them.

    Raises TypeError for a NumPy array unless `numpy_too`: CuPy's functions refuse memory of the host.
    """
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray) and not numpy_too:
        raise TypeError(f"Unsupported type {type(value)}: move it to the GPU with cupy.asarray")
    if type(value) in (tuple, list):
        return type(value)(unwrap(item, numpy_too=numpy_too) for item in value)
    return value


def on_host(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy function on the memory of our arrays. `out` is given back as it came."""
    result = function(*unwrap(args), **{name: unwrap(value) for name, value in kwargs.items()})
    out = kwargs.get("out")
    if isinstance(out, ndarray):
        return out
    if isinstance(out, tuple) and len(out) == 1:
        return out[0]
    return wrap(result)


def _memory_order(order: str | None) -> Any:
    if order not in ("C", "F", "A", "K", None):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K', not {order!r}")
    return "F" if order == "F" else "C"


_NUMPY_2_1 = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def _reshaped_view(host: np.ndarray, shape: Any) -> np.ndarray:
    view = host.view()
    view.shape = shape
    return view


_METHODS = """
all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod cumsum diagonal dot
fill flatten item max mean min nonzero partition prod put ravel repeat reshape round searchsorted sort squeeze std sum
swapaxes take tobytes tofile tolist trace transpose var view
"""
_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
_OPERATOR_NAMES = {"and": "and_", "or": "or_"}


def _binary(name: str) -> Callable[[ndarray, Any], Any]:
    function = getattr(operator, _OPERATOR_NAMES.get(name, name))

    def method(self: ndarray, other: Any) -> Any:
        return on_host(function, self, other)

    return method


def _reflected(name: str) -> Callable[[ndarray, Any], Any]:
    function = getattr(operator, _OPERATOR_NAMES.get(name, name))

    def method(self: ndarray, other: Any) -> Any:
        return on_host(function, other, self)

    return method


def _in_place(name: str) -> Callable[[ndarray, Any], ndarray]:
    function = getattr(operator, f"i{name}")

    def method(self: ndarray, other: Any) -> ndarray:
        self._host = function(self._host, unwrap(other))
        return self

    return method


def _unary(name: str) -> Callable[[ndarray], Any]:
    function = getattr(operator, name)

    def method(self: ndarray) -> Any:
        return wrap(function(self._host))

    return method


def _delegated(name: str) -> Callable[..., Any]:
    function = getattr(np.ndarray, name)

    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        return on_host(function, self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"As `numpy.ndarray.{name}`."
    return method


def _described(name: str) -> property:
    return property(lambda self: getattr(self._host, name), doc=f"As `numpy.ndarray.{name}`.")


def _part(name: str) -> property:
    def write(self: ndarray, value: Any) -> None:
        setattr(self._host, name, unwrap(value))

    return property(lambda self: wrap(getattr(self._host, name)), write, doc=f"As `numpy.ndarray.{name}`.")


def _fill_class() -> None:
    for name in _BINARY.split():
        setattr(ndarray, f"__{name}__", _binary(name))
        setattr(ndarray, f"__r{name}__", _reflected(name))
        setattr(ndarray, f"__i{name}__", _in_place(name))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(ndarray, f"__{name}__", _binary(name))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(ndarray, f"__{name}__", _unary(name))
    for name in ("ndim", "size", "dtype", "itemsize", "nbytes", "strides", "flags"):
        setattr(ndarray, name, _described(name))
    for name in ("real", "imag"):
        setattr(ndarray, name, _part(name))
    for name in _METHODS.split():
        setattr(ndarray, name, _delegated(name))


_fill_class()
# The name under which a program knows it.
ndarray.__module__ = "cupy"
