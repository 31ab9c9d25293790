"""Bytecode made by hand, and NVIDIA's disassembler: the oracles of these tests."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from by_hand import bytecode


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


@pytest.fixture(scope="session")
def build() -> Callable[..., bytes]:
    """Gives `by_hand.bytecode`."""
    pytest.importorskip("cuda.tile")
    return bytecode


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
