"""Arguments of a launch, read once: the signature they call for, and the flat parameters they become.

Which values are taken for which parameter, and what is refused in which words, follows cuTile's own launch. A tuple
is flattened, a constant is embedded, an int becomes an int32 unless the parameter is annotated, a float a float32.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from cutile_sim.dtypes import F32, I1, I32, I64
from cutile_sim.errors import UsageError, UsageOverflowError, UsageTypeError
from cutile_sim.frontend.annotations import Annotation, EachItem, Items, KernelParameters, Leaf
from cutile_sim.frontend.arrays import ArrayArg, is_array, read_array
from cutile_sim.frontend.params import LaunchParam, ListBuffer, PointerParam, ScalarParam
from cutile_sim.frontend.specialization import ArrayDescription, specialize, specialize_list

MAX_NESTING = 64


class ConstantDescription(NamedTuple):
    """A compile-time constant. `kind` keeps 1, True and 1.0 apart; a float is its eight bytes, so NaN equals itself."""

    kind: str
    value: bool | int | bytes


class ScalarDescription(NamedTuple):
    """A scalar parameter, by the cuTile name of its type."""

    dtype_name: str


class ListDescription(NamedTuple):
    """A list of arrays."""

    element: ArrayDescription


class TupleDescription(NamedTuple):
    """A tuple of parameters."""

    items: tuple[Description, ...]


Description = ConstantDescription | ScalarDescription | ArrayDescription | ListDescription | TupleDescription

_BOOL = ScalarDescription("bool_")
_INT32 = ScalarDescription("int32")
_INT64 = ScalarDescription("int64")
_FLOAT32 = ScalarDescription("float32")
_WIDE = range(-(2**63), 2**63)
_NARROW = range(-(2**31), 2**31)


class Binding(NamedTuple):
    """`signature` says what to compile, and is hashable; `params` what to launch it with."""

    signature: tuple[Description, ...]
    params: list[LaunchParam]


def bind(args: Sequence[Any], parameters: KernelParameters) -> Binding:
    """Match arguments with a kernel's parameters.

    Raises UsageTypeError for a wrong number or kind of arguments, UsageOverflowError for an integer that does not
    fit, and UsageError for arrays that a kernel cannot take.
    """
    names = parameters.names
    if len(args) != len(names):
        raise UsageTypeError(
            f"Kernel expects {len(names)} argument{'' if len(names) == 1 else 's'}"
            f" but {len(args)} {'was' if len(args) == 1 else 'were'} given: its parameters are {', '.join(names)}"
            if names
            else f"Kernel expects 0 arguments but {len(args)} {'was' if len(args) == 1 else 'were'} given"
        )
    params: list[LaunchParam] = []
    descriptions = tuple(
        _bind_one(arg, annotation, (index,), names, params)
        for index, (arg, annotation) in enumerate(zip(args, parameters.annotations, strict=True))
    )
    return Binding(descriptions, params)


def _bind_one(
    arg: Any, annotation: Annotation, path: tuple[int, ...], names: tuple[str, ...], params: list[LaunchParam]
) -> Description:
    if type(arg) is tuple:
        return _bind_tuple(arg, annotation, path, names, params)
    if not isinstance(annotation, Leaf):
        raise UsageTypeError(
            "Received a non-tuple argument for a parameter annotated as a tuple"
            f" (parameter '{_name(path, names)}' got {_type_name(arg)})"
        )
    if annotation.constant:
        return _bind_constant(arg, path, names)
    # bool before int, which it is a subclass of.
    if arg is True or arg is False:
        params.append(ScalarParam(arg, I1))
        return _BOOL
    if isinstance(arg, int):
        return _bind_int(arg, annotation.scalar_bits, path, names, params)
    if isinstance(arg, float):
        params.append(ScalarParam(ctypes.c_float(arg).value, F32))
        return _FLOAT32
    if isinstance(arg, list):
        return _bind_list(arg, annotation, path, names, params)
    if is_array(arg):
        array = read_array(arg, _name(path, names))
        _, description, index_params = specialize(array, annotation.array)
        params.append(PointerParam(array))
        params.extend(index_params)
        return description
    raise _not_supported(arg, path, names)


def _bind_tuple(
    arg: tuple[Any, ...],
    annotation: Annotation,
    path: tuple[int, ...],
    names: tuple[str, ...],
    params: list[LaunchParam],
) -> TupleDescription:
    if len(path) > MAX_NESTING:
        raise UsageError(f"Argument nesting exceeds maximum depth of {MAX_NESTING} (parameter '{names[path[0]]}')")
    if isinstance(annotation, Items):
        if len(arg) != len(annotation.items):
            raise UsageTypeError(
                f"Received a tuple of length {len(arg)} for a parameter annotated as a tuple of length"
                f" {len(annotation.items)} (parameter '{_name(path, names)}')"
            )
        annotations: Sequence[Annotation] = annotation.items
    else:
        annotations = (annotation.item if isinstance(annotation, EachItem) else annotation,) * len(arg)
    return TupleDescription(
        tuple(
            _bind_one(item, item_annotation, (*path, index), names, params)
            for index, (item, item_annotation) in enumerate(zip(arg, annotations, strict=True))
        )
    )


def _bind_constant(arg: Any, path: tuple[int, ...], names: tuple[str, ...]) -> ConstantDescription:
    if arg is True or arg is False:
        return ConstantDescription("bool", arg)
    if isinstance(arg, int):
        value = int(arg)
        if value not in _WIDE and not 0 <= value < 2**64:
            reason = (
                "can't convert negative value to unsigned int"
                if value < 0
                else "Python int too large to convert to C unsigned long"
            )
            raise UsageOverflowError(f"{reason} (constant parameter '{_name(path, names)}' is {value})")
        return ConstantDescription("int", value)
    if isinstance(arg, float):
        return ConstantDescription("float", struct.pack("=d", arg))
    raise UsageTypeError(
        f"{_invalid(path)}: Could not interpret object of type '{_type_name(arg)}' as a constant."
        f" Parameter '{_name(path, names)}' is annotated as Constant: pass a bool, int, float or a tuple of them"
    )


def _bind_int(
    arg: int, bits: int, path: tuple[int, ...], names: tuple[str, ...], params: list[LaunchParam]
) -> ScalarDescription:
    value = int(arg)  # a range searches item by item for a subclass of int
    if value not in (_NARROW if bits == 32 else _WIDE):
        advice = "; annotate it as ct.ScalarInt64" if bits == 32 and value in _WIDE else ""
        raise UsageOverflowError(
            f"Python int too large to convert to C int{bits}_t (parameter '{_name(path, names)}' is {value}{advice})"
        )
    params.append(ScalarParam(value, I32 if bits == 32 else I64))
    return _INT32 if bits == 32 else _INT64


def _bind_list(
    arg: list[Any], annotation: Leaf, path: tuple[int, ...], names: tuple[str, ...], params: list[LaunchParam]
) -> ListDescription:
    name = _name(path, names)
    if not arg:
        raise UsageTypeError(f"Empty lists are not supported as kernel arguments (parameter '{name}')")
    arrays: list[ArrayArg] = []
    for index, item in enumerate(arg):
        if not is_array(item):
            if index == 0 and isinstance(item, (bool, int, float, list)):
                raise UsageTypeError(
                    f"Expected list items to be arrays, got {_type_name(item)} (parameter '{name}'):"
                    " pass numbers in a tuple or an array"
                )
            raise UsageTypeError(
                f"Invalid list item #{index}: unsupported object type '{_type_name(item)}' (parameter '{name}')"
            )
        array = read_array(item, f"{name}[{index}]")
        if arrays and array.dtype_name != arrays[0].dtype_name:
            raise UsageTypeError(
                f"Arrays in list vary in data type: '{name}[0]' is {arrays[0].dtype_name},"
                f" '{array.name}' is {array.dtype_name}"
            )
        if arrays and len(array.shape) != len(arrays[0].shape):
            raise UsageTypeError(
                f"Arrays in list vary in rank: '{name}[0]' has {len(arrays[0].shape)} dimensions,"
                f" '{array.name}' has {len(array.shape)}"
            )
        arrays.append(array)
    description, specializations = specialize_list(arrays, annotation.list_element)
    words: list[ArrayArg | int] = []
    for array, specialization in zip(arrays, specializations, strict=True):
        words.append(array)
        words.extend(int(param.value) for param in specialization.index_params)
    params.append(ListBuffer(tuple(words)))
    params.append(ScalarParam(len(arrays), I32))
    return ListDescription(description)


def _not_supported(arg: Any, path: tuple[int, ...], names: tuple[str, ...]) -> UsageTypeError:
    where, name, kind = _invalid(path), _name(path, names), _type_name(arg)
    if isinstance(arg, tuple):
        return UsageTypeError(
            f"{where}: '{kind}' is a subclass of 'tuple'. Only plain tuples are accepted. Pass tuple({name})"
        )
    if hasattr(arg, "item") and hasattr(arg, "dtype"):
        advice = f"pass {name}.item()"
    elif hasattr(arg, "__array__"):
        advice = f"pass np.asarray({name})"
    else:
        advice = "pass an array, a bool, an int, a float, a list of arrays, or a tuple of those"
    return UsageTypeError(f"{where}: Objects of type '{kind}' are not supported. For parameter '{name}', {advice}")


def _invalid(path: tuple[int, ...]) -> str:
    items = "".join(f"item #{index} of " for index in reversed(path[1:]))
    return f"Invalid {items}kernel argument #{path[0]}"


def _name(path: tuple[int, ...], names: tuple[str, ...]) -> str:
    return names[path[0]] + "".join([f"[{index}]" for index in path[1:]])


def _type_name(value: Any) -> str:
    """The type as CPython's C API names it, which is what cuTile prints."""
    cls = type(value)
    is_builtin_or_python = cls.__module__ == "builtins" or cls.__flags__ & (1 << 9)
    return cls.__name__ if is_builtin_or_python else f"{cls.__module__}.{cls.__qualname__}"
