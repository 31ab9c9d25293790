"""Bytecode made by hand with cuTile's own encoder."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any


class Builder:
    """Writes one kernel, an operation a call. Types are texts such as "4x8xf32", "ptr<f32>", "token"; what
    a call leaves out has the plainest value.
    """

    def __init__(self, writer, code, parameters, lines=False) -> None:
        from cuda.tile._bytecode import encodings

        self.encodings = encodings
        self.writer = writer
        self.code = code
        self.parameters = parameters
        self.lines = lines

    def location(self):
        """The debug attribute for the Python line that called this module; none if no lines are wanted."""
        if not self.lines:
            return self.code.cur_debug_attr
        frame: Any = sys._getframe()
        while frame.f_code.co_filename == __file__:
            frame = frame.f_back
        path, function = frame.f_code.co_filename, frame.f_code.co_name
        table = self.writer.debug_attr_table
        file = table.file(os.path.basename(path), os.path.dirname(path))
        first = frame.f_code.co_firstlineno
        scope = table.subprogram(file, first, function, function, table.compile_unit(file), first)
        return table.loc(scope, path, frame.f_lineno, 1)

    def type(self, text):
        """The number of a type: a tile, a scalar pointer tile, a token, or what `text` already is."""
        from cuda.tile._bytecode.type import SimpleType
        from cuda.tile._bytecode.type_base import PtrAttr

        types = self.writer.type_table
        if not isinstance(text, str):
            return text
        if text == "token":
            return types.Token
        if text.startswith("!"):
            return types.simple(SimpleType[text[1:].upper()])
        *sizes, element = (
            text.split("x") if not text.endswith(">") else [*text[: text.index("ptr")].split("x")[:-1], "p"]
        )
        if element == "p":
            pointee = text[text.index("<") + 1 : -1]
            inner = types.pointer(types.simple(SimpleType[pointee.upper()]), PtrAttr.Missing)
        else:
            inner = types.simple(SimpleType[element.upper()])
        return types.tile(inner, [int(n) for n in sizes])

    def view(self, kind, tile, shape=(None,), element="f32", strides=None, **extra):
        """The numbers of a tensor view type and of a view type over it."""
        from cuda.tile._bytecode.type import SimpleType
        from cuda.tile._bytecode.type_base import PaddingValue, PtrAttr

        types = self.writer.type_table
        dynamic = -(1 << 63)
        sizes = [dynamic if n is None else n for n in shape]
        steps = [1] * len(shape) if strides is None else [dynamic if n is None else n for n in strides]
        tensor = types.tensor_view(types.simple(SimpleType[element.upper()]), sizes, steps, PtrAttr.Missing)
        extra.setdefault("padding_value", PaddingValue.Missing)
        if kind != "gather_scatter_view":
            extra.setdefault("dim_map", list(range(len(tile))))
        return tensor, getattr(types, kind)(tile_shape=tile, tensor_view=tensor, **extra)

    def op(self, name, **given):
        """Write one operation; gives its result, its results, or the builder of its regions."""
        e = self.encodings
        plain = {
            "rounding_mode": e.RoundingMode.NEAREST_EVEN, "rounding": e.RoundingMode.ZERO, "flush_to_zero": False,
            "overflow": e.IntegerOverflow.NONE, "signedness": e.Signedness.Signed, "mask": None, "token": None,
            "signedness_lhs": e.Signedness.Signed, "signedness_rhs": e.Signedness.Signed, "propagate_nan": False,
            "memory_scope": None, "optimization_hints": None, "inbounds": (), "paddingValue": None, "fast_acc": False,
            "memory_ordering_semantics": e.MemoryOrderingSemantics.WEAK, "unsignedCmp": False, "saturating": False,
            "result_token_type": "token", "reverse": False, "global_": False, "operands": (), "result_types": (),
        }  # fmt: skip
        function = getattr(e, f"encode_{name}Op")
        arguments = {}
        for key in list(inspect.signature(function).parameters)[1:]:
            value = given.pop(key) if key in given else plain[key]
            if key.endswith("_types"):
                value = [self.type(t) for t in value]
            elif key.endswith("_type"):
                value = self.type(value)
            arguments[key] = value
        assert not given, f"{name} has no {sorted(given)}"
        with self.code.debug_attr(self.location()):
            return function(self.code, **arguments)

    def zero(self, text):
        """A constant of zeros of that type, or such a value of a type that has no constants."""
        if text == "token":
            return self.op("MakeToken", result_type="token")
        if "ptr" in text:
            whole = self.zero(text[: text.index("ptr")] + "i64")
            return self.op("IntToPtr", result_type=text, source=whole)
        element = text.split("x")[-1]
        wide = {"i16": 2, "f16": 2, "bf16": 2, "tf32": 3, "i32": 4, "f32": 4, "i64": 8, "f64": 8}
        size_bytes = wide.get(element, 1)
        return self.op("Constant", result_type=text, value=bytes(size_bytes))

    def binary(self, op, element="f32", result=None, shape="4x", **extra):
        """An operation of two operands of one type."""
        kind = shape + element
        self.op(op, result_type=result or kind, lhs=self.zero(kind), rhs=self.zero(kind), **extra)

    def unary(self, op, source, result, **extra):
        """An operation of one operand; conversions call it and their result otherwise."""
        names = ("from_", "to_type") if op in ("ExtI", "TruncI", "FToF", "FToI", "IToF") else ("source", "result_type")
        self.op(op, **{names[0]: self.zero(source), names[1]: result}, **extra)

    def tensor(self, shape=(None,), strides=None, pointer="ptr<f32>", sizes=None, tile=None, kind="partition_view",
               element="f32",
               **extra):  # fmt: skip
        """A tensor view, a view over it, and the number of the view's type."""
        tile = tile or [4] * len(shape)
        whole, parts = self.view(kind, tile, shape, element, strides, **extra)
        dynamic = [self.zero("i32")] * (shape.count(None) if sizes is None else sizes)
        steps = [self.zero("i32")] * (strides or ()).count(None)
        value = self.op(
            "MakeTensorView", result_type=whole, base=self.zero(pointer), dynamicShape=dynamic, dynamicStrides=steps
        )
        maker = {"partition_view": "MakePartitionView", "strided_view": "MakeStridedView"}.get(
            kind, "MakeGatherScatterView"
        )
        return value, self.op(maker, result_type=parts, tensor_view=value), parts


def bytecode(
    body: Callable[[Builder], Any],
    parameters: tuple[str, ...] = (),
    version: str = "13.4",
    results: tuple[str, ...] = (),
    entry: bool = True,
    lines: bool = False,
) -> bytes:
    """The bytes of a module with one kernel that `body(builder)` writes: all but the return, unless it returns True.

    With `lines`, each operation's source line is that of the call in `body` that wrote it.
    """
    from cuda.tile._bytecode.debug_info import MISSING_DEBUG_ATTR_ID
    from cuda.tile._bytecode.version import BytecodeVersion
    from cuda.tile._bytecode.writer import write_bytecode

    buffer = bytearray()
    number = BytecodeVersion["V_" + version.replace(".", "_")]
    with write_bytecode(1, buffer, number) as writer:
        types = Builder(writer, None, ())
        kinds, outs = [types.type(t) for t in parameters], [types.type(t) for t in results]
        with writer.function("kernel", kinds, outs, entry, {}, MISSING_DEBUG_ATTR_ID) as (code, values):
            builder = Builder(writer, code, values, lines)
            if not body(builder):
                builder.op("Return")
    return bytes(buffer)
