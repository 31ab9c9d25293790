from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutile_sim.checker import CheckReport, check
from cutile_sim.errors import DecodeError, UsageError
from cutile_sim.findings import Finding
from cutile_sim.tileir.core import Location
from cutile_sim.tileiras import find_tileiras

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


@ct.kernel
def third(x, y, N: ct.Constant[int]):  # type: ignore[no-untyped-def, name-defined]
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(N,)) // 3)


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.strip().startswith(text))


def arrays(dtype: Any = np.int32) -> tuple[np.ndarray, np.ndarray]:
    return np.full(64, 7, dtype), np.zeros(64, dtype)


def bytecode() -> bytes:
    from cutile_sim.frontend.export import compile_kernel

    return compile_kernel(third, (*arrays(), 16)).bytecode


def program_that(folder: Path, *statements: str) -> str:
    """A stand-in for tileiras."""
    path = folder / "tileiras"
    path.write_text("\n".join([f"#!{sys.executable}", "import sys", *statements]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_fine_kernel_is_not_run() -> None:
    x, y = arrays()
    report = check(third, x, y, 16)
    assert report.ok and not report.findings and not y.any()
    assert report.notes[0].startswith("compiled for any GPU to Tile IR 13.") and report.notes[1].startswith("verified ")


def test_what_the_front_end_refuses() -> None:
    (finding,) = check(third, *arrays(), 15).findings
    assert finding.id == "compile" and finding.severity == "error" and "not a power of two" in finding.message
    assert finding.location is not None and finding.location.line == line_of("ct.store(y")
    assert "ct.load(x" in str(finding) and str(finding).endswith("^")


def test_what_the_verifier_refuses() -> None:
    report = check(third, *arrays(np.uint32), 16)
    (finding,) = report.findings
    assert not report.ok and "negative_inf" in finding.message
    assert finding.location is not None and finding.location.line == line_of("ct.store(y")


def test_wrong_use() -> None:
    with pytest.raises(UsageError, match="Kernel expects 3 arguments"):
        check(third, *arrays())
    with pytest.raises(UsageError, match="write it like sm_90"):
        check(third, *arrays(), 16, arch="hopper")
    with pytest.raises(DecodeError):
        check(b"no bytecode")


def test_bytecode_and_module() -> None:
    from cutile_sim.tileir.decode import decode

    data = bytecode()
    assert check(data).ok and check(decode(data)).ok


@pytest.mark.tileiras
def test_tileiras_agrees() -> None:
    if find_tileiras() is None:
        pytest.skip("tileiras is not installed")
    report = check(third, *arrays(), 16, arch="sm_90")
    assert report.ok and "tileiras compiles it for sm_90" in report.notes
    assert check(bytecode(), arch="sm_100").notes[-1] == "tileiras compiles it for sm_100"
    with pytest.raises(UsageError, match="does not know the GPU sm_77"):
        check(bytecode(), arch="sm_77")
    assert not any("tileiras" in note for note in check(bytecode(), arch="sm_90", tileiras="never").notes)


def test_what_tileiras_refuses(tmp_path: Path) -> None:
    program = program_that(tmp_path, "print('k.py:3:7: error: too large', file=sys.stderr)", "sys.exit(1)")
    report = check(third, *arrays(), 16, arch="sm_90", tileiras=program)
    assert report.findings == (Finding("tileiras", "error", "too large", Location("k.py", 3, 7)),) and not report.ok


def test_a_warning_is_a_finding_but_no_error(tmp_path: Path) -> None:
    report = check(bytecode(), arch="sm_90", tileiras=program_that(tmp_path, "print('warning: slow')"))
    assert report.ok and [f.severity for f in report.findings] == ["warning"]


def test_without_tileiras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutile_sim.tileiras.find_tileiras", lambda: None)
    report = check(bytecode(), arch="sm_90")
    assert report.ok and "tileiras is not installed" in report.notes[-1]


def test_report_without_errors_is_ok() -> None:
    assert CheckReport((), ()).ok
    assert not CheckReport((Finding("a", "warning", "b"), Finding("a", "error", "b")), ()).ok
