"""`cutile-sim exec`, `python -m cutile_sim`, and CUTILE_SIM: a script runs as Python would run it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from cutile_sim.traces import load_trace

pytest.importorskip("cuda.tile")
pytestmark = [
    pytest.mark.cutile,
    pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="the programs use CuPy's stand-in"),
]

WAYS = {
    "module": ("-m", "cutile_sim", "--force"),
    "exec": ("-c", "from cutile_sim.cli.main import main; main()", "exec", "--force"),
    "variable": (),
}


def run(python: Any, way: str, *words: str) -> Any:
    environment = {"CUTILE_SIM": "force"} if way == "variable" else {}
    return python(*WAYS[way], *words, **environment)


@pytest.mark.parametrize("way", WAYS)
def test_output_arguments_and_exit_code(python: Any, program: str, way: str) -> None:
    done = run(python, way, program, "exit", "--arch", "-x")
    assert done.stdout == "sum 2080.0 exit --arch -x __main__\n"
    assert done.stderr == "cutile_sim: launches are simulated on the CPU (sm_90)\n"
    assert done.returncode == 5


@pytest.mark.parametrize("way", ["module", "exec"])
@pytest.mark.parametrize("word", ["fault", "refused"])
def test_an_error_is_printed_without_our_frames(python: Any, program: str, way: str, word: str) -> None:
    done = run(python, way, program, word)
    assert done.returncode == 1
    frames = [line for line in done.stderr.splitlines() if line.startswith('  File "')]
    assert 'program.py", line' in frames[0]
    assert not any("cutile_sim" in frame for frame in frames)
    if word == "fault":
        assert len(frames) == 1
        assert "OutOfBoundsError: store outside memory: array 'x' of shape 64" in done.stderr
        assert "ct.scatter(x" in done.stderr
    else:
        assert "Dimension #0 of shape (15,) is not a power of two" in done.stderr


def test_neighbours_and_main(python: Any, tmp_path: Path) -> None:
    folder = tmp_path / "somewhere"
    folder.mkdir()
    (folder / "neighbour.py").write_text("VALUE = 3\n")
    (folder / "main.py").write_text(
        "import pickle, sys, neighbour\n"
        "class Thing: pass\n"
        "assert type(pickle.loads(pickle.dumps(Thing()))) is Thing\n"
        "print(neighbour.VALUE, sys.argv, __file__ == sys.modules['__main__'].__file__)\n"
    )
    done = python("-m", "cutile_sim", "--force", "somewhere/main.py", "a b")
    assert (done.stdout, done.stderr) == ("3 ['somewhere/main.py', 'a b'] True\n", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x = = 1\n", "SyntaxError"), ("1 / 0\n", "ZeroDivisionError"), ("raise SystemExit('bye')\n", "bye")],
)
def test_other_ends(python: Any, tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "s.py").write_text(text)
    done = python("-m", "cutile_sim", "--force", "s.py")
    assert done.returncode == 1
    assert expected in done.stderr
    assert "runner.py" not in done.stderr


def test_wrong_uses(python: Any, program: str) -> None:
    missing = python("-m", "cutile_sim", "--force", "nope.py")
    assert missing.returncode == 2
    assert missing.stderr == "error: cannot read nope.py: No such file or directory\n"
    unknown = python("-m", "cutile_sim", "--arch", "sm_1", program)
    assert unknown.returncode == 2
    assert "no stand-in for a GPU" in unknown.stderr


def test_processes_of_a_script_simulate_too(python: Any, program: str, tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, 'program.py'], capture_output=True, text=True))\n"
    )
    done = python("-m", "cutile_sim", "--force", "--arch", "sm_120", "parent.py")
    assert "sum 2080.0" in done.stdout
    assert "simulated on the CPU (sm_120)" in done.stdout


def test_a_wrong_variable_is_reported_and_ignored(python: Any) -> None:
    done = python("-c", "print(1)", CUTILE_SIM="force", CUTILE_SIM_ARCH="sm_1")
    assert done.stdout == "1\n"
    assert "CUTILE_SIM has no effect: there is no stand-in" in done.stderr


def test_wrong_workers_end_it_before_the_script_starts(python: Any, program: str) -> None:
    done = python("-m", "cutile_sim", "--force", "program.py", CUTILE_SIM_WORKERS="many")
    assert done.returncode == 2 and done.stdout == ""
    assert "CUTILE_SIM_WORKERS is 'many': write how many threads share a launch" in done.stderr


@pytest.mark.parametrize("value", ["", "0"])
def test_the_variable_costs_nothing_where_it_asks_for_nothing(python: Any, value: str) -> None:
    done = python("-c", "import sys; print('cutile_sim' in sys.modules)", CUTILE_SIM=value)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_variable_imports_neither_torch_nor_cutile(python: Any) -> None:
    code = "import sys; print(*sorted({'numpy', 'torch', 'cuda.tile', 'cutile_sim.standin'} & set(sys.modules)))"
    assert python("-c", code, CUTILE_SIM="force").stdout == "cutile_sim.standin\n"


def test_a_script_is_traced(python: Any, program: str, tmp_path: Path) -> None:
    done = python(*WAYS["exec"], "--trace", "x.ctrace", "--trace-values", program, "exit")
    assert done.returncode == 5, done.stderr
    with load_trace(tmp_path / "x.ctrace") as found:
        (launch,) = found.launches
        assert launch.kernel == "increment"
        assert launch.contents("y") is not None
        assert sum(record.group.size for record in launch.records(kinds=("store",))) == launch.block_count


def test_values_without_a_trace(python: Any, program: str) -> None:
    done = python(*WAYS["exec"], "--trace-values", program)
    assert done.returncode == 2
    assert "--trace-values needs --trace" in done.stderr
