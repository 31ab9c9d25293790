"""What a Python variable stands for at a place of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutile_sim.tileir.core import Value


@dataclass(frozen=True)
class Held:
    """A value of the kernel: of several, of an unrolled loop, that which was computed last."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Known:
    """A number or other constant of the compiler's."""

    value: Any


@dataclass(frozen=True)
class ArrayArgument:
    """An array that the kernel was launched with, by its name in the launch, such as `x` or `pair[0]`."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Items:
    """A tuple."""

    items: tuple[Binding, ...]


@dataclass(frozen=True)
class Missing:
    """Nothing that could be shown, and why."""

    reason: str


@dataclass(eq=False)
class Carried:
    """What a loop carries for a variable from turn to turn: `solved` once it is known what that is."""

    name: str
    is_unrolled: bool = False
    solved: Binding | None = None


Binding = Held | Known | ArrayArgument | Items | Missing | Carried
Names = dict[str, Binding]

NOT_ASSIGNED = Missing("it is not assigned yet")
NO_OPERATION = Missing("it was optimised away, or has no operation of its own")


def settled(binding: Binding) -> Binding:
    """A binding with what loops carry filled in."""
    while isinstance(binding, Carried):
        if binding.solved is None:
            return binding
        binding = binding.solved
    if isinstance(binding, Items):
        return Items(tuple(settled(item) for item in binding.items))
    return binding


def joined(name: str, *options: Binding) -> Binding:
    """What a variable is where paths meet, if no operation says."""
    first = settled(options[0])
    if all(_same(first, settled(o)) for o in options[1:]):
        return first
    return Missing("it depends on the path taken, and nothing reads it after that")


def _same(a: Binding, b: Binding) -> bool:
    if isinstance(a, Known) and isinstance(b, Known):
        return type(a.value) is type(b.value) and repr(a.value) == repr(b.value)
    return a is b or (not isinstance(a, Carried) and a == b)
