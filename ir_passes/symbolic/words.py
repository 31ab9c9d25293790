"""What reasons call operations, for those who know the Python source alone."""

from __future__ import annotations

from cutile_sim.tileir.core import Op

_WORDS = {
    "addi": "a sum",
    "andi": "a bitwise and",
    "bitcast": "a bitcast",
    "constant": "a table of constants",
    "divi": "a division by what may be zero or of either sign",
    "ftoi": "a conversion from floating point",
    "maxi": "a maximum",
    "mini": "a minimum",
    "muli": "a product",
    "ori": "a bitwise or",
    "reduce": "a reduction",
    "remi": "a remainder by what may be zero or of either sign",
    "scan": "a scan",
    "select": "a choice",
    "shli": "a shift by what is no constant",
    "shri": "a shift by what is no constant",
    "xori": "a bitwise exclusive or",
}


def in_words(op: Op) -> str:
    """The operation by a name that its users have for it."""
    return _WORDS.get(op.name, op.name)


def line_of(op: Op) -> str:
    """Where the operation stands."""
    return f"line {op.location.line}" if op.location is not None else f"byte {op.offset_bytes:#x}"
