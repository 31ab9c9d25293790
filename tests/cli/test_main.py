"""Every wrong use gives one clear message and exit code 2, and never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from cutile_sim import __version__
from cutile_sim.cli import main as main_module
from cutile_sim.errors import InternalError

Program = Callable[..., Result]
Refused = Callable[..., str]

COPY = """
import cuda.tile as ct
import numpy as np


@ct.kernel
def copy(x, y, N: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(N,)))


def inputs():
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
"""


def test_help_and_version(program: Program) -> None:
    assert program("--version").output == f"cutile-sim, version {__version__}\n"
    for words in (["-h"], *([name, "--help"] for name in ("run", "check", "ir", "ops"))):
        result = program(*words)
        assert result.exit_code == 0 and "Example:\n" in result.output


def test_wrong_words(refused: Refused) -> None:
    assert "No such command 'rnu'" in refused("rnu")
    assert "Missing argument 'FILE[::KERNEL]'; see cutile-sim run --help" in refused("run")
    assert "No such option" in refused("run", "k.py", "--gird", "4")
    assert "--undetermined" in refused("run", "k.py", "--undetermined", "nan")
    assert "Missing argument" in refused("check")


def test_wrong_words_in_json(program: Program) -> None:
    result = program("run", "--json")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert error["class"] == "UsageError" and error["reason"].startswith("Missing argument")
    assert [error[key] for key in ("file", "line", "column", "block", "lane")] == [None] * 5


@pytest.mark.parametrize("command", ["run", "check", "ir"])
def test_no_such_file(refused: Refused, tmp_path: Path, command: str) -> None:
    (tmp_path / "kernel.py").touch()
    assert "kernel.py?" in refused(command, tmp_path / "kernal.py")
    assert "folder" in refused(command, tmp_path)
    (tmp_path / "notes.txt").touch()
    assert ".tileirbc" in refused(command, tmp_path / "notes.txt")


@pytest.mark.parametrize("command", ["run", "check", "ir"])
def test_damaged_bytecode(refused: Refused, tmp_path: Path, command: str) -> None:
    path = tmp_path / "bad.tileirbc"
    path.write_bytes(b"\x7fTileIR\x00\x0d\x04")
    message = refused(command, path)
    assert "bad.tileirbc is no Tile IR bytecode, is damaged, or is newer" in message and "byte 0x" in message


@pytest.mark.cutile
class TestKernelFiles:
    @pytest.mark.parametrize("command", ["run", "check", "ir"])
    def test_no_kernel(self, refused: Refused, kernel_file: Callable[..., Path], command: str) -> None:
        assert "has no kernel" in refused(command, kernel_file("x = 1\n"))

    @pytest.mark.parametrize("command", ["run", "ir"])
    def test_several_kernels(self, refused: Refused, kernel_file: Callable[..., Path], command: str) -> None:
        two = "import cuda.tile as ct\n@ct.kernel\ndef one(): pass\n@ct.kernel\ndef two(): pass\n"
        message = refused(command, kernel_file(two))
        assert "several kernels (one, two)" in message and "kernels.py::one" in message

    @pytest.mark.parametrize("command", ["run", "check", "ir"])
    def test_unknown_kernel(self, refused: Refused, add_file: Path, command: str) -> None:
        assert "has no kernel addd; did you mean add?" in refused(command, f"{add_file}::addd")

    @pytest.mark.parametrize("command", ["run", "check", "ir"])
    def test_file_that_fails(self, refused: Refused, kernel_file: Callable[..., Path], command: str) -> None:
        message = refused(command, kernel_file("import cuda.tile\n\nvalue = 1 / 0\n"))
        assert "ZeroDivisionError" in message and "kernels.py:3" in message and "value = 1 / 0" in message


@pytest.mark.cutile
class TestArguments:
    def test_unknown_name(self, refused: Refused, add_file: Path) -> None:
        message = refused("run", add_file, "--arg", "xx=1")
        assert "kernel add has no parameter 'xx'; did you mean x?; its parameters are x, y, z, N" in message
        assert "no kernel has a parameter 'xx'; did you mean x?" in refused("check", add_file, "--arg", "xx=1")

    def test_missing(self, refused: Refused, kernel_file: Callable[..., Path]) -> None:
        path = kernel_file(COPY.partition("def inputs")[0])
        message = refused("run", path, "--grid", "4", "--arg", "x=ones:f32[64]")
        assert "kernel copy gets nothing for y, N: give --arg y=SPEC" in message and "are x, y, N" in message
        assert "gets nothing for x, y, N" in refused("ir", path)

    def test_twice(self, refused: Refused, add_file: Path) -> None:
        assert "--arg N is given twice: 16 and 8" in refused("run", add_file, "--arg", "N=16", "--arg", "N=8")

    def test_bad_spec(self, refused: Refused, add_file: Path) -> None:
        message = refused("run", add_file, "--arg", "x=rand:f23[64]")
        assert "did you mean f32?" in message and message.endswith("    rand:f23[64]\n         ^\n")

    def test_expect(self, refused: Refused, add_file: Path) -> None:
        assert "there is no such array; did you mean z?" in refused("run", add_file, "--expect", "zz=1")
        assert "expect one array or number" in refused("run", add_file, "--expect", "z=[1]")

    def test_bytecode_names_no_parameters(self, refused: Refused, add_file: Path, tmp_path: Path) -> None:
        from cutile_sim.frontend.export import compile_kernel
        from cutile_sim.frontend.loadfile import select

        path = tmp_path / "add.tileirbc"
        arrays = [np.zeros(64, np.float32) for _ in range(3)]
        path.write_bytes(compile_kernel(select(str(add_file)), (*arrays, 16)).bytecode)
        assert "call its arguments arg0, arg1" in refused("run", path, "--grid", "4", "--arg", "x=ones:f32[64]")
        assert "call its arguments arg0, arg1" in refused("run", path, "--grid", "4", "--arg", "arg1=ones:f32[64]")
        assert "points to f32" in refused("run", path, "--grid", "4", "--arg", "arg0=ones:i32[64]")
        assert "make 3" in refused("run", path, "--grid", "4", "--arg", "arg0=ones:f32[64]")


@pytest.mark.cutile
@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("0", "the grid's x is 0"),
        ("4,0", "the grid's y is 0"),
        ("-1", "the grid's x is -1"),
        ("1,1,1,1", "the grid has 4 dimensions"),
        ("2147483648", "past CUDA's limit of 2,147,483,647"),
        ("1,65536", "past CUDA's limit of 65,535"),
        ("1,1,65536", "past CUDA's limit of 65,535"),
        ("4.5", "write one to three whole numbers"),
        ("4,", "write one to three whole numbers"),
        ("four", "write one to three whole numbers"),
    ],
)
def test_bad_grid(refused: Refused, add_file: Path, grid: str, message: str) -> None:
    assert message in refused("run", add_file, f"--grid={grid}")


@pytest.mark.cutile
def test_no_grid(refused: Refused, kernel_file: Callable[..., Path]) -> None:
    assert "Give --grid" in refused("run", kernel_file(COPY, "    return x, y, 16\n"))


@pytest.mark.cutile
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("return np.array([object()] * 64), y, 16", "parameter 'x': Unsupported array dtype object"),
        ("return x.astype(np.complex64), y, 16", "parameter 'x': Unsupported array dtype complex64"),
        ("return x.astype('>f4'), y, 16", "parameter 'x': the array has the wrong byte order"),
        ("return x[::-1], y, 16", "parameter 'x': the array has negative strides"),
        (
            "return x, np.lib.stride_tricks.as_strided(y, (64,), (0,)), 16",
            "output 'y' has several elements in one place",
        ),
        ("return 'text', y, 16", "argument #0: Objects of type 'str' are not supported"),
        ("return None, y, 16", "argument #0: Objects of type 'NoneType' are not supported"),
        ("return x, y, np.int32(16)", "'N' is annotated as Constant"),
        ("return x, y", "inputs() in "),
        ("return x, y", "returns 2 values, but kernel copy takes 3: x, y, N"),
        ("return dict(x=x, y=y, N=16, M=3)", "gives 'M', which kernel copy does not take"),
        ("return dict(x=x, y=y)", "kernel copy gets nothing for N"),
        ("return dict(x=x, y=y, N=16, grid='4')", "the grid's x is '4', not an integer"),
        ("return 3", "returns int: return a dict"),
        ("raise ValueError('no luck')", "inputs() raised ValueError: no luck"),
    ],
)
def test_bad_inputs(refused: Refused, kernel_file: Callable[..., Path], line: str, message: str) -> None:
    words = [] if "grid" in line else ["--grid", "4"]
    assert message in refused("run", kernel_file(COPY, f"    {line}\n"), *words)


@pytest.mark.cutile
def test_read_only_output(program: Program, kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(COPY, "    y.flags.writeable = False\n    return dict(x=x, y=y, N=16, grid=4)\n")
    result = program("run", path)
    assert result.exit_code == 1
    assert "store into array 'y', which is read-only" in result.output and "ct.store(y" in result.output


@pytest.mark.cutile
def test_overlapping_arrays(program: Program, kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(COPY, "    return dict(x=x[:48], y=x[16:], N=16, grid=3)\n")
    result = program("run", path)
    assert result.exit_code == 0 and "warning: 'x' shares memory with 'y'" in result.output


@pytest.mark.cutile
def test_empty_arrays(program: Program, kernel_file: Callable[..., Path]) -> None:
    result = program("run", kernel_file(COPY, "    return dict(x=x[:0], y=y[:0], N=16, grid=1)\n"))
    assert result.exit_code == 0 and "0 bytes loaded, 0 stored" in result.output


@pytest.mark.cutile
def test_save_into_no_folder(refused: Refused, add_file: Path, tmp_path: Path) -> None:
    message = refused("run", add_file, "--save", tmp_path / "nowhere" / "out.npz")
    assert "there is no folder" in message
    assert "it is a folder" in refused("run", add_file, "--save", tmp_path)


def test_a_mistake_of_ours_is_no_traceback(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(main_module.ops, "callback", broken)
    result = program("ops")
    assert result.exit_code == 1 and "Traceback" not in result.output
    assert "error: KeyError: 'lost' (test_main.py:" in result.output and "please report it" in result.output
    assert json.loads(program("ops", "--json").stdout)["error"]["class"] == InternalError.__name__
