"""Rules that hold for every row of the table of operations."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cutile_sim.optable import BY_OPCODE, OPS, join
from cutile_sim.optable.encoding import ENCODINGS, ENUMS
from cutile_sim.optable.meaning import MEANINGS

FAMILIES = {
    "integer": 16, "floating": 11, "math": 17, "conversion": 9, "shape": 11, "mma": 3, "reduce": 2, "memory": 8,
    "views": 8, "atomics": 3, "control": 7, "grid": 4, "debug": 3, "structural": 3, "unsupported": 4,
}  # fmt: skip
ROWS = list(OPS.values())


def test_every_operation_has_one_row():
    assert len(OPS) == len(BY_OPCODE) == len(ENCODINGS) == 109
    assert set(BY_OPCODE.values()) == set(ROWS)


def test_families_are_a_partition():
    counts = {family: sum(row.meaning.family == family for row in ROWS) for family in FAMILIES}
    assert counts == FAMILIES


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.mnemonic)
def test_row(row):
    encoding, meaning = row.encoding, row.meaning
    names = [*row.operand_names, *row.attribute_names]
    assert all(name.isidentifier() and name == name.lower() for name in [*names, *encoding.results])
    assert len(set(names)) == len(names)
    assert meaning.summary.endswith(".")
    assert (meaning.exactness == "U") == (meaning.ulps > 0)
    assert meaning.structural == (meaning.family == "structural") == (meaning.effect == "none")
    assert (meaning.unsupported is not None) == (meaning.family == "unsupported")
    for attribute in encoding.attributes:
        assert (attribute.kind == "enum") == (attribute.enum is not None)
        assert attribute.enum is None or attribute.enum in ENUMS
        assert attribute.since is None or attribute.since > encoding.since
        assert (attribute.since is None) == (attribute.default is None)
    flags = [a.flag for a in encoding.attributes] + [o.flag for o in encoding.operands]
    assert {flag for flag in flags if flag} <= set(encoding.flags)
    rest = [o for o in encoding.operands if o.kind == "rest"]
    assert len(rest) <= 1 and all(o is encoding.operands[-1] for o in rest)
    assert not rest or encoding.total_count


def test_conversions_call_their_operand_source():
    assert {row.operand_names for row in ROWS if row.meaning.family == "conversion"} == {("source",)}


def test_a_missing_line_is_named():
    fewer = {name: meaning for name, meaning in MEANINGS.items() if name != "AddFOp"}
    with pytest.raises(ImportError, match="no line for AddFOp"):
        join(ENCODINGS, fewer)
    with pytest.raises(ImportError, match="a line for NewOp"):
        join(ENCODINGS, MEANINGS | {"NewOp": MEANINGS["AddFOp"]})


def test_import_loads_no_front_end():
    code = "import sys, cutile_sim.optable; print(any(name.startswith('cuda') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
