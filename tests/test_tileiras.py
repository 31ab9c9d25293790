from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cutile_sim import tileiras
from cutile_sim.errors import UsageError
from cutile_sim.tileir.core import Location
from cutile_sim.tileiras import Complaint, compile_bytecode, find_tileiras, read_complaints


def test_complaints() -> None:
    said = """\
warning: something is slow
loc("dir/k.py":12:5): error: 'cuda_tile.divi' op is wrong
C:\\k.py:4:1: error: worse
remark: nothing
error: verification failed for deserialized cuda_tile::ModuleOp
error: input does not correspond to Tile IR bytecode
"""
    assert list(read_complaints(said)) == [
        Complaint("warning", "something is slow"),
        Complaint("error", "'cuda_tile.divi' op is wrong", Location("dir/k.py", 12, 5)),
        Complaint("error", "worse", Location("C:\\k.py", 4, 1)),
    ]


def test_a_lone_complaint_of_bytecode_stays() -> None:
    assert list(read_complaints("error: input does not correspond to Tile IR bytecode")) == [
        Complaint("error", "input does not correspond to Tile IR bytecode")
    ]


def program_that(folder: Path, *statements: str) -> str:
    path = folder / "program"
    path.write_text("\n".join([f"#!{sys.executable}", "import sys", *statements]))
    path.chmod(0o755)
    return str(path)


def test_the_program_gets_the_bytecode(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    program = program_that(
        tmp_path,
        "assert sys.argv[1:3] == ['--gpu-name', 'sm_90'] and sys.argv[3] == '--output-file'",
        f"open({str(copy)!r}, 'wb').write(open(sys.argv[5], 'rb').read())",
    )
    assert compile_bytecode(program, b"bytes", "sm_90") == []
    assert copy.read_bytes() == b"bytes"


def test_a_failure_without_a_message_is_an_error(tmp_path: Path) -> None:
    (complaint,) = compile_bytecode(program_that(tmp_path, "sys.exit(9)"), b"", "sm_90")
    assert complaint == Complaint("error", "it ended with code 9 and no message")
    (complaint,) = compile_bytecode(program_that(tmp_path, "sys.exit('it broke')"), b"", "sm_90")
    assert complaint == Complaint("error", "it broke")


def test_a_program_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tileiras, "TIMEOUT_SECONDS", 0.2)
    (complaint,) = compile_bytecode(program_that(tmp_path, "import time", "time.sleep(60)"), b"", "sm_90")
    assert complaint.severity == "warning" and "was stopped" in complaint.message


def test_no_such_program(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot run"):
        compile_bytecode(str(tmp_path / "none"), b"", "sm_90")


@pytest.mark.tileiras
def test_the_real_program() -> None:
    program = find_tileiras()
    if program is None:
        pytest.skip("tileiras is not installed")
    assert os.access(program, os.X_OK)
    assert (
        "tileiras" in subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout.lower()
    )
    (complaint,) = compile_bytecode(program, b"no bytecode", "sm_90")
    assert complaint == Complaint("error", "input does not correspond to Tile IR bytecode")
