"""Evaluates what a user asks to be printed: names, slices, arithmetic, comparisons. Never runs code of its own."""

from __future__ import annotations

import ast
import contextlib
import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from cutile_sim.errors import UsageError

Lookup = Callable[[str], Any]

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "all": np.all,
    "any": np.any,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "isfinite": np.isfinite,
    "isnan": np.isnan,
    "len": len,
    "max": lambda *args: np.maximum(*args) if len(args) == 2 else np.max(*args),
    "mean": np.mean,
    "min": lambda *args: np.minimum(*args) if len(args) == 2 else np.min(*args),
    "sum": np.sum,
}
_ATTRIBUTES = ("T", "dtype", "ndim", "shape", "size", "strides")
_VALUE = re.compile(r"(^|[-+*/(,\[<>=&|^~:])\s*%(\d+)")
_PREFIX = "_value_"

MOST_CHARACTERS = 500
"""Of an expression. Longer ones could be nested too deeply to be parsed."""


def evaluate(text: str, lookup: Lookup) -> Any:
    """The value of an expression.

    Names, and `%7` for a value of the Tile IR, are looked up. There are numbers, slices, arithmetic, comparisons,
    `and`, `or`, `not`, tuples, the attributes T, dtype, ndim, shape, size and strides, and the functions abs, all, any,
    argmax, argmin, isfinite, isnan, len, max, mean, min and sum. Of two arguments `max` and `min` choose element by
    element, as in a kernel; the second one of others is an axis.

    Raises UsageError for anything else, for names without a value, and for what NumPy refuses.
    """
    # Python 3.11 cannot parse anything any more once a text was nested too deeply for it.
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"the expression is longer than {MOST_CHARACTERS} characters")
    try:
        tree = ast.parse(_VALUE.sub(rf"\1 {_PREFIX}\2", text).strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UsageError(f"{text!r} is no expression") from None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _of(tree.body, lookup)
    except UsageError:
        raise
    except RecursionError:
        raise UsageError("the expression is nested too deeply") from None
    except Exception as error:
        raise UsageError(f"{text.strip()}: {error}") from None


def truth(text: str, lookup: Lookup) -> bool:
    """Whether a condition holds. Raises UsageError as `evaluate` does, and for a tile with more than one element."""
    value = evaluate(text, lookup)
    try:
        return bool(value)
    except ValueError:
        raise UsageError(f"{text.strip()} has many elements: ask for any(...) or all(...) of them") from None


def check(text: str) -> None:
    """Raise UsageError for a text that could never be evaluated."""
    with contextlib.suppress(_UnknownNameError):
        evaluate(text, _unknown)


class _UnknownNameError(UsageError):
    pass


def _unknown(name: str) -> Any:
    raise _UnknownNameError(name)


def _of(node: ast.AST, lookup: Lookup) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, type(None), type(...))):
        return node.value
    if isinstance(node, ast.Name):
        return lookup(f"%{node.id[len(_PREFIX) :]}" if node.id.startswith(_PREFIX) else node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _of(node.left, lookup), _of(node.right, lookup)
        if isinstance(node.op, ast.Mult) and (isinstance(left, tuple) or isinstance(right, tuple)):
            raise UsageError(f"{ast.unparse(node)}: a tuple cannot be multiplied")
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp):
        return _UNARY[type(node.op)](_of(node.operand, lookup))
    if isinstance(node, ast.Compare):
        return _compared(node, lookup)
    if isinstance(node, ast.BoolOp):
        value: Any = None
        for part in node.values:
            value = _of(part, lookup)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value
    if isinstance(node, ast.Subscript):
        return _of(node.value, lookup)[_of(node.slice, lookup)]
    if isinstance(node, ast.Slice):
        return slice(*(None if part is None else _of(part, lookup) for part in (node.lower, node.upper, node.step)))
    if isinstance(node, ast.Tuple):
        return tuple(_of(item, lookup) for item in node.elts)
    if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
        array = np.asarray(_of(node.value, lookup))
        if node.attr == "strides":  # in elements, as in a kernel
            return tuple(s // array.itemsize for s in array.strides)
        return getattr(array, node.attr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords and len(node.args) <= 2:
        function = _FUNCTIONS.get(node.func.id)
        if function is not None:
            return function(*(_of(a, lookup) for a in node.args))
    raise UsageError(
        f"{ast.unparse(node)} cannot be evaluated here: use names, slices, arithmetic, comparisons, and "
        f"{', '.join(_FUNCTIONS)}"
    )


def _compared(node: ast.Compare, lookup: Lookup) -> Any:
    left = _of(node.left, lookup)
    result: Any = True
    for number, (kind, part) in enumerate(zip(node.ops, node.comparators, strict=True)):
        if type(kind) not in _BINARY:
            raise UsageError(f"{ast.unparse(node)}: compare with ==, !=, <, <=, > and >=")
        right = _of(part, lookup)
        one = _BINARY[type(kind)](left, right)
        result = one if number == 0 else np.logical_and(result, one)
        left = right
    return result
