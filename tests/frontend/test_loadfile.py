"""Kernels out of files, and what is said about files that have none."""

from __future__ import annotations

import sys
import textwrap

import numpy as np
import pytest

from cutile_sim.errors import DecodeError, UsageError
from cutile_sim.frontend import compile_kernel, load_file, load_kernels, select

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")

TWO = """
    import cuda.tile as ct

    @ct.kernel
    def scale(x):
        ct.store(x, (0,), ct.load(x, (0,), (4,)) * 2)

    @ct.kernel
    def shift(x):
        ct.store(x, (0,), ct.load(x, (0,), (4,)) + 1)

    alias = scale

    def inputs():
        return 42

    if __name__ == "__main__":
        raise RuntimeError("executed as a program")
"""


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="kernel.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write_file


def test_kernels_and_inputs(write):
    path = write(TWO)
    file = load_file(path)
    assert list(file.kernels) == ["scale", "shift"] and file.inputs is not None and file.inputs() == 42
    assert list(load_kernels(str(path))) == ["scale", "shift"]
    assert select(f"{path}::shift")._pyfunc.__name__ == "shift"
    compile_kernel(file.kernels["scale"], (np.zeros(4, np.float32),))


def test_only_kernel_needs_no_name(write):
    path = write("import cuda.tile as ct\n@ct.kernel\ndef only(x): pass\n")
    assert select(path)._pyfunc.__name__ == "only"
    assert load_file(path).inputs is None


def test_each_load_is_a_module_of_its_own(write):
    path = write(TWO)
    first, second = load_file(path), load_file(path)
    assert first.module is not second.module and first.kernels["scale"] is not second.kernels["scale"]


def test_neighbours_can_be_imported_and_nothing_else_changes(write):
    write("import cuda.tile as ct\n@ct.kernel\ndef borrowed(x): pass\n", "neighbour_of_kernel.py")
    path = write("from neighbour_of_kernel import borrowed\n")
    before = list(sys.path), list(sys.argv)
    assert list(load_kernels(path)) == ["borrowed"]
    assert (list(sys.path), list(sys.argv)) == before
    own = write(
        "from neighbour_of_kernel import borrowed\nimport cuda.tile as ct\n@ct.kernel\ndef own(x): pass\n", "b.py"
    )
    assert list(load_kernels(own)) == ["own"]


def test_bytecode(write, tmp_path):
    compiled = compile_kernel(select(f"{write(TWO)}::scale"), (np.zeros(4, np.float32),))
    path = tmp_path / "scale.tileirbc"
    path.write_bytes(compiled.bytecode)
    assert [function.name for function in select(path).functions] == ["scale"]
    assert select(f"{path}::scale").version == (13, 4)
    with pytest.raises(UsageError, match="has no kernel scele; did you mean scale"):
        select(f"{path}::scele")


def test_damaged_bytecode(tmp_path):
    path = tmp_path / "damaged.tileirbc"
    path.write_bytes(b"not bytecode at all")
    with pytest.raises(DecodeError):
        select(path)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("kernel.py", r"has several kernels \(scale, shift\): name one, as in kernel.py::scale"),
        ("kernel.py::shfit", "has no kernel shfit; did you mean shift?"),
        ("kernel.py::zzz", "has no kernel zzz; it has scale, shift"),
        ("kernle.py", "there is no file .*kernle.py; did you mean .*kernel.py?"),
        ("missing/kernel.py", "there is no file .*kernel.py$"),
        ("notes.txt", r"is neither a Python file \(.py\) nor Tile IR bytecode \(.tileirbc\)"),
        ("empty.py", "has no kernel: no function in it is decorated with @cuda.tile.kernel"),
        ("", "is a folder"),
    ],
)
def test_wrong_file_or_name(write, tmp_path, spec, text):
    write(TWO)
    write("", "notes.txt")
    write("x = 1\n", "empty.py")
    with pytest.raises(UsageError, match=text):
        select(f"{tmp_path}/{spec}")


@pytest.mark.parametrize(
    ("source", "line", "text", "excerpt"),
    [
        ("x = 1\ny = 1 // 0\n", 2, "cannot be loaded: ZeroDivisionError", "    y = 1 // 0"),
        ("def f():\n    return {}['a']\nf()\n", 2, "KeyError: 'a'", "    return {}['a']"),
        ("import no_such_module_here\n", 1, "No module named 'no_such_module_here'", "    import no_such_module_here"),
        ("x = 1\nif x\n", 2, "cannot be loaded: SyntaxError: ", "    if x"),
        (
            "import sys\nsys.exit('enough')\n",
            2,
            r"ends the program while it is loaded \(enough\)",
            "    sys.exit('enough')",
        ),
    ],
)
def test_files_that_fail(write, source, line, text, excerpt):
    path = write(source)
    modules = set(sys.modules)
    with pytest.raises(UsageError, match=text) as raised:
        select(path)
    assert raised.value.location is not None
    assert (raised.value.location.file, raised.value.location.line) == (str(path), line)
    assert excerpt in str(raised.value).splitlines()
    assert not any(name.startswith("cutile_sim_file") for name in set(sys.modules) - modules)


def test_without_cuda_tile(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.tile", None)
    with pytest.raises(UsageError, match=r"kernel.py needs the cuda-tile package.*\.tileirbc.*or install cuda-tile"):
        select(write(TWO))
