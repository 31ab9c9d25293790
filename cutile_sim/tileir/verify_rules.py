"""The list of rules of single operations, and what the functions in verify_compute.py, verify_memory.py and
verify_regions.py share.

A rule is a generator of texts; it runs only where the operation's operands passed verify_operands.py, so it
may rely on them. The rules are those of the cuda_tile dialect's operation verifiers, as the compiler of
CUDA 13.4 applies them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from cutile_sim.tileir.core import Module, Op, Value
from cutile_sim.tileir.types import TileType

Check = Callable[[Op, Module], Iterator[str]]


@dataclass(frozen=True)
class Rule:
    """A named rule and the function that yields what breaks it."""

    name: str
    check: Check


RULES: dict[str, list[Rule]] = defaultdict(list)


def rule(name: str, *mnemonics: str) -> Callable[[Check], Check]:
    """Make a function the rule of that name, for those operations."""

    def register(check: Check) -> Check:
        for mnemonic in mnemonics:
            RULES[mnemonic].append(Rule(name, check))
        return check

    return register


def tile_of(op: Op, name: str) -> TileType:
    """The type of an operand that is one tile."""
    value = op.operands[name]
    assert isinstance(value, Value) and isinstance(value.type, TileType)
    return value.type


def result_of(op: Op) -> TileType:
    """The type of the first result, a tile."""
    kind = op.results[0].type
    assert isinstance(kind, TileType)
    return kind


def many_of(op: Op, name: str) -> tuple[Value, ...]:
    """The values of an operand that may be many."""
    value = op.operands[name]
    assert isinstance(value, tuple)
    return value


def names_of(*members: Enum) -> str:
    """The members as the text of the IR has them."""
    return ", ".join(member.name.lower() for member in members)
