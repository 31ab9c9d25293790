"""Which values the variables of a loop hold in each turn and behind it.

`names` are the variables ahead of the loop, `ends` those at the end of each way into the next turn, `breaks` those
where it is left, and `carried` those that its body assigns, which are settled here.
"""

from __future__ import annotations

from cutile_sim.debugger.bindings import NOT_ASSIGNED, Carried, Held, Missing, Names
from cutile_sim.debugger.carried import Row, solve
from cutile_sim.debugger.makers import UNROLLED, Makers, endings
from cutile_sim.tileir.core import Op, Value

_NOT_CARRIED = Missing("it is not assigned yet in this turn of the loop")
_AFTER_LOOP = Missing("it is not kept after its loop: nothing reads it there")


def counted(op: Op, carried: dict[str, Carried], names: Names, ends: list[Names], makers: Makers) -> Names:
    """The variables behind a `for` that has an operation of its own."""
    region = op.regions[0]
    told = _carry(op, carried, names, ends, region.arguments[1:], makers)
    after = {**names, **dict.fromkeys(carried, _AFTER_LOOP)}
    return after | {n: Held((op.results[column],)) for n, column in told.items()}


def endless(
    op: Op, carried: dict[str, Carried], names: Names, ends: list[Names], breaks: list[Names], makers: Makers
) -> Names:
    """The variables behind a `while`: it ends by breaks alone."""
    _carry(op, carried, names, ends, op.regions[0].arguments, makers)
    leaving = endings(op, "break")
    after: Names = {**names, **dict.fromkeys(carried, _AFTER_LOOP)}

    def found(name: str, column: int) -> None:
        after[name] = Held((op.results[column],))

    solve(carried, op.results, [Row(way, leaving) for way in breaks], makers, found)
    return after


def _carry(
    op: Op,
    carried: dict[str, Carried],
    names: Names,
    ends: list[Names],
    arguments: tuple[Value, ...],
    makers: Makers,
) -> dict[str, int]:
    """Settle what a loop carries for each variable; the columns of those that were told."""
    initial = op.operands["init_values"]
    assert isinstance(initial, tuple)
    told: dict[str, int] = {}

    def found(name: str, column: int) -> None:
        told[name] = column
        carried[name].solved = Held((arguments[column],))

    rows = [Row(names, [initial]), *(Row(end, endings(op, "continue")) for end in ends)]
    solve(carried, arguments, rows, makers, found)
    for variable in carried.values():
        variable.solved = variable.solved or _NOT_CARRIED
    return told


def unrolled(carried: dict[str, Carried], names: Names, ends: list[Names], breaks: list[Names]) -> Names:
    """A loop whose turns the compiler wrote out one after the other, or one that cannot be told from others."""
    after: Names = {**names}
    for name, variable in carried.items():
        options = [names.get(name, NOT_ASSIGNED), *(way.get(name, NOT_ASSIGNED) for way in (*ends, *breaks))]
        held = [o for o in options if isinstance(o, Held)]
        if variable.is_unrolled and len(held) == len(options) and len(options) == 2:
            variable.solved = Held(tuple(dict.fromkeys(v for o in held for v in o.values)))
        else:
            variable.solved = UNROLLED
        after[name] = options[-1] if len(options) == 2 else UNROLLED
    return after
