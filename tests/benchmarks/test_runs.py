"""The benchmarks run, small, and their results are right. Times are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cutile

pytest.importorskip("cuda.tile")
ROOT = Path(__file__).resolve().parents[2]


def test_every_benchmark_runs_small(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--small", "--workers", "2", "--traces", "--sanitize"]
    command += ["--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())
    assert len(figures["basic"]["kernels"]) == 9 and len(figures["library"]["kernels"]) == 10
    for group in ("basic", "library"):
        for row in figures[group]["kernels"]:
            assert row["ratio"] > 0 and row["speedup"]["wall"] > 0 and row["speedup"]["at_best"] > 0
            assert row["name"] in done.stdout
    assert len(figures["traces"]) == 9 and all(row["ratio"] > 0 for row in figures["traces"])
    assert [len(figures["sanitizer"][g]) for g in ("basic", "library")] == [9, 10]
    assert figures["launch_ms"] > 0 and figures["import_s"] > 0
    assert [item["blocks"] for item in figures["scaling"]] == [1000]


def test_a_wrong_result_is_an_error() -> None:
    code = "from benchmarks.basic import vector_add; p = vector_add(64, 64); p.args[2][...] = 0; p.check()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "AssertionError" in done.stderr
