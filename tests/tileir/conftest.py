"""Bytecode made by hand with cuTile's own encoder, and NVIDIA's disassembler: the oracles of these tests."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest


def _disassembler() -> Path | None:
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        program = Path(root) / "cu13" / "bin" / "tileirdisasm"
        if program.exists():
            return program
    return None


@pytest.fixture(scope="session")
def disassemble(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., SimpleNamespace]:
    """Runs tileirdisasm on a file's bytes; gives `accepted`, `text` and `errors`. Skips where it is not
    installed.
    """
    program = _disassembler()
    if program is None:
        pytest.skip("tileirdisasm is not installed")
    path = tmp_path_factory.mktemp("disasm") / "kernel.tileirbc"

    def run(data: bytes, *options: str) -> SimpleNamespace:
        path.write_bytes(data)
        done = subprocess.run([program, *options, path], capture_output=True, text=True, timeout=60)
        return SimpleNamespace(accepted=done.returncode == 0, text=done.stdout, errors=done.stderr)

    return run


class Builder:
    """Writes one kernel, an operation a call. Types are texts such as "4x8xf32", "ptr<f32>", "token"; what
    a call leaves out has the plainest value.
    """

    def __init__(self, writer, code, parameters) -> None:
        from cuda.tile._bytecode import encodings

        self.encodings = encodings
        self.writer = writer
        self.code = code
        self.parameters = parameters

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


@pytest.fixture(scope="session")
def build() -> Callable[..., bytes]:
    """Gives `build(body, parameters=(), version="13.4")`: the bytes of a module with one kernel that
    `body(builder)` writes.

    `body` writes all but the return, unless it returns True.
    """
    pytest.importorskip("cuda.tile")
    from cuda.tile._bytecode.debug_info import MISSING_DEBUG_ATTR_ID
    from cuda.tile._bytecode.version import BytecodeVersion
    from cuda.tile._bytecode.writer import write_bytecode

    def make(body, parameters=(), version="13.4", results=(), entry=True) -> bytes:
        buffer = bytearray()
        number = BytecodeVersion["V_" + version.replace(".", "_")]
        with write_bytecode(1, buffer, number) as writer:
            types = Builder(writer, None, ())
            kinds, outs = [types.type(t) for t in parameters], [types.type(t) for t in results]
            with writer.function("kernel", kinds, outs, entry, {}, MISSING_DEBUG_ATTR_ID) as (code, values):
                builder = Builder(writer, code, values)
                if not body(builder):
                    builder.op("Return")
        return bytes(buffer)

    return make


@pytest.fixture(scope="session")
def export() -> Callable[[str, str], bytes]:
    """Gives `export(name, version)`: the bytecode that cuTile makes of the kernel of that name in
    sample_kernels.py.
    """
    pytest.importorskip("cuda.tile")
    path = Path(__file__).with_name("sample_kernels.py")
    spec = importlib.util.spec_from_file_location("sample_kernels", path)
    assert spec is not None and spec.loader is not None
    samples = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(samples)

    @functools.cache
    def make(name: str, version: str = "13.4") -> bytes:
        import io

        from cuda.tile.compilation import export_kernel

        buffer = io.BytesIO()
        kernel, signature = samples.KERNELS[name]
        # Before 13.3 bytecode was made for one architecture.
        target = {"gpu_code": "sm_90"} if version < "13.3" else {}
        export_kernel(kernel, [signature], buffer, output_format="tileir_bytecode", bytecode_version=version, **target)
        return buffer.getvalue()

    return make


@pytest.fixture
def check_rule(build) -> Callable[..., None]:
    """Checks that a body is valid with the first arguments, and with the second breaks the rule of that name."""

    def check(name, body, good, bad) -> None:
        from cutile_sim.tileir.decode import decode
        from cutile_sim.tileir.verify import verify

        valid, broken = (build(lambda b, given=given: body(b, **given) and None) for given in (good, bad))
        assert [str(error) for error in verify(decode(valid))] == []
        assert name.partition("/")[0] in [error.rule for error in verify(decode(broken))]

    return check


@pytest.fixture
def check_verdicts(build, disassemble) -> Callable[..., None]:
    """Checks that NVIDIA's reader accepts a body with the first arguments and refuses it with the second."""

    def check(body, good, bad) -> None:
        assert disassemble(build(lambda b: body(b, **good) and None)).accepted
        assert not disassemble(build(lambda b: body(b, **bad) and None)).accepted

    return check
