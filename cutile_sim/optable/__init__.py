"""The table of operations: everything the rest of the package knows about one is read from its row here.

encoding.py says how an operation is written (generated), meaning.py what it is (by hand). `OPS` holds the
joined rows by mnemonic, `BY_OPCODE` the same rows by opcode.
"""

from __future__ import annotations

from cutile_sim.optable.encoding import ENCODINGS
from cutile_sim.optable.meaning import MEANINGS
from cutile_sim.optable.spec import AttributeSpec, Effect, Encoding, Meaning, OperandSpec, OpSpec

__all__ = ["BY_OPCODE", "OPS", "AttributeSpec", "Effect", "Encoding", "Meaning", "OpSpec", "OperandSpec"]


def join(encodings: dict[str, Encoding], meanings: dict[str, Meaning]) -> tuple[OpSpec, ...]:
    """Rows of both halves. Raises ImportError that names the missing lines where the halves differ."""
    if missing := [name for name in encodings if name not in meanings]:
        raise ImportError(f"optable/meaning.py has no line for {', '.join(missing)}")
    if surplus := [name for name in meanings if name not in encodings]:
        raise ImportError(f"optable/meaning.py has a line for {', '.join(surplus)}, which optable/encoding.py lacks")
    return tuple(OpSpec(encoding, meanings[name]) for name, encoding in encodings.items())


_ROWS = join(ENCODINGS, MEANINGS)
OPS: dict[str, OpSpec] = {row.mnemonic: row for row in _ROWS}
BY_OPCODE: dict[int, OpSpec] = {row.encoding.opcode: row for row in _ROWS}
