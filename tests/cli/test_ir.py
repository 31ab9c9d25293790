from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from cutile_sim.tileir.printer import print_module

pytestmark = pytest.mark.cutile

Program = Callable[..., Result]


def test_operations_stand_below_their_line(program: Program, add_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(add_file.parent)
    result = program("ir", add_file)
    assert result.exit_code == 0
    blocks = result.output.split("\n\n")
    store = next(block for block in blocks if "ct.store(z" in block)
    line = add_file.read_text().splitlines().index("    ct.store(z, index=(i,), tile=a)") + 1
    assert store.startswith(f"kernels.py:{line}  ct.store(z, index=(i,), tile=a)\n") and " = store_view_tko " in store
    addition = next(block for block in blocks if " = addf " in block)
    caller, callee, op = addition.splitlines()
    assert caller.endswith("a = plus(a, ct.load(y, index=(i,), shape=(N,)))")
    assert callee.startswith("  kernels.py:") and callee.endswith("return a + b")
    assert op.startswith("      %"), "the operation lies in the loop, so it is indented"
    assert all(len(text) <= 120 for text in result.output.splitlines())


def test_every_operation_is_listed_once(program: Program, add_file: Path) -> None:
    text = program("ir", add_file).output
    shown = json.loads(program("ir", add_file, "--json").stdout)
    (function,) = shown["functions"]
    operations = function["operations"]
    assert function["name"] == "add" and len(function["parameters"]) == 9 and shown["version"].startswith("13.")
    for operation in operations:
        results = operation["text"].partition(" = ")[0] + " = "
        if results.startswith("%"):
            assert text.count(f" {results}") == 1
    inner = next(o for o in operations if o["name"] == "addf")
    assert inner["depth"] == 1 and "return a + b" in Path(inner["file"]).read_text().splitlines()[inner["line"] - 1]
    assert operations[-1]["name"] == "return"


def test_without_source(program: Program, add_file: Path) -> None:
    from cutile_sim.frontend.export import compile_kernel
    from cutile_sim.frontend.loadfile import load_file

    file = load_file(add_file)
    assert file.inputs is not None
    given = file.inputs()
    module = compile_kernel(file.kernels["add"], [given[name] for name in "xyzN"]).module
    assert program("ir", add_file, "--no-source").output == print_module(module)


def test_bytecode_of_a_source_that_is_gone(program: Program, add_file: Path, tmp_path: Path) -> None:
    from cutile_sim.frontend.export import compile_kernel
    from cutile_sim.frontend.loadfile import load_file

    file = load_file(add_file)
    assert file.inputs is not None
    given = file.inputs()
    path = tmp_path / "add.tileirbc"
    path.write_bytes(compile_kernel(file.kernels["add"], [given[name] for name in "xyzN"]).bytecode)
    add_file.unlink()
    result = program("ir", path)
    assert result.exit_code == 0 and " = store_view_tko " in result.output
