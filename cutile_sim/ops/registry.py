"""Joins each operation's row of the table to the one function that evaluates it.

    @implements("addf")
    def addf(lhs, rhs, *, rounding_mode, flush_to_zero, result_type): ...

Positional parameters are the row's operand names; keyword-only ones are its attributes and stand-alone flags, and what
else the function asks for: `result_type` (the first result's Tile IR type), `operand_types` (a dict by operand name),
`used_results` (a tuple of bools: whether anything reads each result), `only_accessed` (whether the result is the place
of memory accesses and nothing else), `only_multiplied` (whether only matrix products take the result), `out` (an array
of the result's shape and carrier type that may be written to and returned, or None), `cx` (the running group of blocks:
memory, grid, regions, output). A pure operation never asks for `cx`. What a function does not take must be named in
`ignores`, so that nothing can be forgotten.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from cutile_sim.optable import OPS

EXTRAS = ("result_type", "operand_types", "used_results", "only_accessed", "only_multiplied", "out", "cx")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Implementation:
    """An evaluator function and what it asks for beyond its operands."""

    function: Callable[..., Any]
    operands: tuple[str, ...]
    keywords: tuple[str, ...]
    wants: frozenset[str]


IMPLEMENTATIONS: dict[str, Implementation] = {}


def implements(mnemonic: str, *, ignores: Iterable[str] = ()) -> Callable[[F], F]:
    """Register the evaluator of one operation. Raises TypeError where its parameters do not fit the table's row."""

    def register(function: F) -> F:
        spec = OPS[mnemonic]
        parameters = inspect.signature(function).parameters.values()
        positional = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        keywords = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        ignored = set(ignores)
        due = tuple(n for n in spec.operand_names if n not in ignored)
        if positional != due:
            raise TypeError(f"{mnemonic} takes operands {positional}, its row says {due}")
        attributes = {k for k in keywords if k not in EXTRAS}
        want = set(spec.attribute_names) - ignored
        if attributes != want:
            raise TypeError(f"{mnemonic} takes attributes {sorted(attributes)}, its row says {sorted(want)}")
        if unknown := ignored - set(spec.attribute_names) - set(spec.operand_names):
            raise TypeError(f"{mnemonic} ignores {sorted(unknown)}, which its row does not have")
        if mnemonic in IMPLEMENTATIONS:
            raise TypeError(f"{mnemonic} has two implementations")
        IMPLEMENTATIONS[mnemonic] = Implementation(
            function,
            positional,
            tuple(k for k in keywords if k not in EXTRAS),
            frozenset(keywords) & frozenset(EXTRAS),
        )
        return function

    return register
