"""Which values of the kernel hold the variables that loops carry and that branches meet in.

The front-end turns a variable that is assigned in a loop or a branch into an argument or a result of a region, without
saying which. Each stands in a column: initial value, argument, operand of every `continue` or `yield`. A variable is
told by what it is on each way there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cutile_sim.debugger.bindings import Binding, Carried, Held, Known, Missing, Names, settled
from cutile_sim.debugger.makers import Makers
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import TokenType

Columns = Sequence[Value]
Solve = Callable[[str, int], None]


class Row(NamedTuple):
    """One way to where columns meet: the variables there, and sets of operands, of which one belongs to it."""

    names: Names
    operands: list[tuple[Value, ...]]


def solve(names: Iterable[str], columns: Columns, rows: list[Row], makers: Makers, found: Solve) -> set[str]:
    """Tell which column belongs to which variable, and call `found(name, column)` for each as soon as it is known.

    Returns the names that were told. A column goes to a variable if it is the same on every way; failing that, if
    nothing speaks against it and no other variable and no other column is left for the two.
    """
    left = [n for n in names if all(n in row.names for row in rows)]
    free = {i for i, v in enumerate(columns) if not isinstance(v.type, TokenType)}
    told: set[str] = set()
    must_be_full = True
    while left:
        choices = {n: _fitting(n, sorted(free), columns, rows, makers, must_be_full) for n in left}
        clear = next((n for n in left if _is_clear(choices, n, rows, must_be_full)), None)
        if clear is None:
            if not must_be_full:
                break
            must_be_full = False
            continue
        column = choices[clear][0]
        found(clear, column)
        told.add(clear)
        left.remove(clear)
        if not any(column in choices[n] for n in left if must_be_full):
            free.discard(column)
        must_be_full = True
    return told


def _is_clear(choices: dict[str, list[int]], name: str, rows: list[Row], is_full: bool) -> bool:
    mine = choices[name]
    if not mine:
        return False
    if is_full:
        return all(_is_same_column(mine[0], other, rows) for other in mine[1:])
    return len(mine) == 1 and not any(mine[0] in theirs for n, theirs in choices.items() if n != name)


def _is_same_column(a: int, b: int, rows: list[Row]) -> bool:
    return all(operands[a] is operands[b] for row in rows for operands in row.operands)


def _fitting(
    name: str, free: list[int], columns: Columns, rows: list[Row], makers: Makers, must_be_full: bool
) -> list[int]:
    found = []
    for column in free:
        verdicts = []
        for row in rows:
            each = [_matches(row.names[name], o[column], name, columns[column], makers) for o in row.operands]
            verdicts.append(True if True in each else (None if None in each or not each else False))
        if False in verdicts or (None in verdicts and must_be_full) or True not in verdicts:
            continue
        found.append(column)
    return found


def _matches(binding: Binding, value: Value, name: str, column: Value, makers: Makers) -> bool | None:
    """Whether a variable and an operand are the same; None where that is unknown."""
    binding = settled(binding)
    value = makers.bare(value)
    if isinstance(binding, Carried):
        return True if binding.name == name and value is column else None
    if isinstance(binding, Missing):
        return None
    if isinstance(binding, Held):
        return any(makers.bare(v) is value for v in binding.values)
    if isinstance(binding, Known):
        return is_constant(makers.of_value.get(value), binding.value)
    return False


def is_constant(maker: Op | None, number: object) -> bool:
    """Whether an operation makes a tile of this number alone."""
    if maker is None or maker.name != "constant" or not isinstance(number, (bool, int, float)):
        return False
    held = np.asarray(maker.attributes["value"])
    with np.errstate(all="ignore"):
        return bool((held == number).all())
