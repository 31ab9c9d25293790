"""Real kernels against NVIDIA's disassembler: the same operations, types and places in the source."""

from __future__ import annotations

import re

import pytest

from cutile_sim.tileir.core import Op
from cutile_sim.tileir.decode import decode

pytest.importorskip("cuda.tile")
pytestmark = [pytest.mark.cutile, pytest.mark.tileiras]

KERNELS = ("add", "calls", "loops", "atomics")
VERSIONS = ("13.1", "13.2", "13.3", "13.4")
# The public definition of the IR calls one operation otherwise than the disassembler.
RENAMED = {"fpowf": "pow"}
OPERATION = re.compile(r"^\s*(?:%[^=]+= )?([a-z]\w*)\b")
TYPE = re.compile(r"\b(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)<")


def lines_of(text: str) -> list[str]:
    """The lines of a disassembly that hold an operation."""
    found = []
    for line in text.splitlines():
        head = OPERATION.match(line)
        if head and head[1] not in ("entry", "global", "else") and not line.lstrip().startswith(("}", "#", "(")):
            found.append(line)
    return found


def shown_ops(data: bytes) -> list[Op]:
    """The operations that the disassembler shows: it leaves out ends of regions that give nothing."""
    return [op for op in decode(data).walk() if op.inputs or op.name not in ("yield", "continue")]


def types_in(line: str) -> list[str]:
    """All outermost types that a line names, and its tokens."""
    found, at = [], 0
    while match := TYPE.search(line, at):
        depth, end = 0, match.end() - 1
        while True:
            depth += {"<": 1, ">": -1}.get(line[end], 0)
            end += 1
            if not depth:
                break
        found.append(line[match.start() : end])
        at = end
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", KERNELS)
def test_same_operations_and_types(export, disassemble, name, version):
    data = export(name, version)
    shown = disassemble(data)
    assert shown.accepted, shown.errors
    theirs, ours = lines_of(shown.text), shown_ops(data)
    assert [RENAMED.get(OPERATION.match(line)[1], OPERATION.match(line)[1]) for line in theirs] == [
        op.name for op in ours
    ]
    for line, op in zip(theirs, ours, strict=True):
        # The disassembler names some types once for several values; none may be missing or differ.
        ours_named = {str(value.type) for value in (*op.inputs, *op.results)}
        assert set(types_in(line)) <= ours_named | {str(v.type) for r in op.regions for v in r.arguments}, line
        if op.results and "tile<" in str(op.results[0].type) and op.name not in ("if", "for", "loop"):
            assert str(op.results[0].type) in line


def places(text: str) -> dict[str, list[tuple[str, int, int]]]:
    """Each `#locN` of a disassembly as a chain of (file, line, column), innermost first."""
    chains: dict[str, list[tuple[str, int, int]]] = {}
    pending = dict(re.findall(r"^(#loc\d*) = (.*)$", text, re.M))

    def resolve(name: str) -> list[tuple[str, int, int]]:
        if name not in chains:
            body = pending[name]
            if found := re.fullmatch(r'loc\("(.*)":(\d+):(\d+)\)', body):
                chains[name] = [(found[1], int(found[2]), int(found[3]))]
            elif found := re.fullmatch(r"#cuda_tile\.di_loc<(#loc\d*) in .*>", body):
                chains[name] = resolve(found[1])
            elif found := re.fullmatch(r"loc\(callsite\((#loc\d*) at (#loc\d*)\)\)", body):
                chains[name] = resolve(found[1]) + resolve(found[2])
            else:
                assert body == "loc(unknown)", body
                chains[name] = []
        return chains[name]

    for name in pending:
        resolve(name)
    return chains


def place_of(op: Op) -> list[tuple[str, int, int]]:
    # A Location counts columns from 1, the file from 0.
    return [] if op.location is None else [(at.file, at.line, at.column - 1) for at in op.location.chain()]


@pytest.mark.parametrize("name", KERNELS)
def test_same_locations(export, disassemble, name):
    data = export(name)
    text = disassemble(data, "-g").text
    known = places(text)
    ours = [op for op in shown_ops(data) if not op.regions]
    theirs = [line for line in lines_of(text) if re.search(r"loc\(#loc\d*\)$", line)]
    assert len(theirs) == len(ours)
    for line, op in zip(theirs, ours, strict=True):
        assert known[re.search(r"loc\((#loc\d*)\)$", line)[1]] == place_of(op), line
