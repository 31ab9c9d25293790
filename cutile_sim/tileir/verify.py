"""Checks the rules of Tile IR that a decoded module may still break: those that NVIDIA's compiler enforces
as it loads a file, and on which the rest of the package relies.

The rules live beside this file: verify_types.py (types), verify_operands.py (what each operation takes and
gives), verify_compute.py, verify_memory.py and verify_regions.py (one small function a rule). Here they are
run, and regions and their ends are checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutile_sim.errors import VerifyError
from cutile_sim.tileir import verify_compute, verify_memory, verify_regions  # noqa: F401 (they register their rules)
from cutile_sim.tileir.core import Function, Location, Module, Op, Region, Value
from cutile_sim.tileir.types import TileType, Type
from cutile_sim.tileir.verify_operands import operand_errors
from cutile_sim.tileir.verify_rules import RULES
from cutile_sim.tileir.verify_types import type_errors

# Which operation may end a region of which, and (for those) what may stand between the two.
_ENDS: dict[str, tuple[str, ...]] = {
    "for": ("continue",),
    "loop": ("continue", "break", "return"),
    "if": ("yield", "continue", "break", "return"),
    "reduce": ("yield",),
    "scan": ("yield",),
}
_TERMINATORS = frozenset(end for ends in _ENDS.values() for end in ends)
_LEAVES = {"break": ("loop",), "continue": ("for", "loop")}


def verify(module: Module) -> list[VerifyError]:
    """All rules that the module breaks, in program order; empty for a valid module.

    Each error carries the operation's location and the name of the rule. They are returned, not raised.
    """
    return [error for function in module.functions for error in _Checker(module, function).run()]


class _Checker:
    """Checks one function."""

    def __init__(self, module: Module, function: Function) -> None:
        self._module = module
        self._function = function
        self._known_types: set[Type] = set()

    def run(self) -> Iterator[VerifyError]:
        function = self._function
        at = function.location
        if not function.is_entry:
            yield _error("entry-only", f"the function {function.name} is no kernel", at)
        if function.type.results:
            yield _error("entry-results", f"the kernel {function.name} returns values", at)
        for number, parameter in enumerate(function.parameters):
            if isinstance(parameter.type, TileType) and parameter.type.shape:
                text = f"parameter {number} of the kernel {function.name} is a {parameter.type}, not a scalar"
                yield _error("entry-scalars", text, at)
        yield from self._types(function.parameters, f"the kernel {function.name}", at)
        yield from self._region(function.body, (), at)

    def _types(self, values: tuple[Value, ...], where: str, at: Location | None) -> Iterator[VerifyError]:
        for value in values:
            if value.type not in self._known_types:
                self._known_types.add(value.type)
                for rule, text in type_errors(value.type):
                    yield _error(rule, f"{where} has a {value.type}: {text}", at)

    def _region(self, region: Region, parents: tuple[Op, ...], at: Location | None) -> Iterator[VerifyError]:
        ends = _ENDS[parents[-1].name] if parents else ("return",)
        owner = parents[-1].name if parents else "a kernel"
        if not region.ops:
            yield _error("terminator", f"a region of {owner} is empty: it must end in {' or '.join(ends)}", at)
            return
        last = region.ops[-1]
        if last.name not in ends:
            yield _error(
                "terminator", f"a region of {owner} ends in {last.name}, not in {' or '.join(ends)}", last.location
            )
        for op in region.ops:
            if op.name in _TERMINATORS and op is not last:
                yield _error("terminator", f"{op.name} stands in the middle of a region of {owner}", op.location)
            yield from self._op(op, parents)

    def _op(self, op: Op, parents: tuple[Op, ...]) -> Iterator[VerifyError]:
        at = op.location
        if op.spec.meaning.structural:
            yield _error("structural", f"{op.name} cannot stand inside a kernel", at)
            return
        yield from self._types(op.results, op.name, at)
        broken = [_error("operand-type", f"{op.name}: {text}", at) for text in operand_errors(op)]
        yield from broken
        if not broken:
            for rule in RULES.get(op.name, ()):
                for text in rule.check(op, self._module):
                    yield _error(rule.name, f"{op.name}: {text}", at)
        if op.name in _TERMINATORS:
            yield from self._leave(op, parents)
        for number, region in enumerate(op.regions):
            yield from self._types(region.arguments, f"a region of {op.name}", at)
            if op.name == "if" and number == 1 and not region.ops and not op.results:
                continue  # an `if` without results may lack its second region
            yield from self._region(region, (*parents, op), at)

    def _leave(self, op: Op, parents: tuple[Op, ...]) -> Iterator[VerifyError]:
        """Whether a terminator has something to end, and gives it the right values."""
        at = op.location
        outer = [parent for parent in parents if parent.name != "if"]
        given = [value.type for value in op.inputs]
        if op.name == "return":
            held = [parent.name for parent in outer if parent.name != "loop"]
            if held:
                yield _error("return-place", f"return stands inside {held[-1]}, which it cannot leave", at)
            elif given:
                yield _error("return-values", "a kernel returns values", at)
            return
        if op.name == "yield":
            due = [value.type for value in parents[-1].results] if parents else []
            if parents and parents[-1].name == "if" and given != due:
                yield _error("yield-types", f"yields {_shown(given)}, but the if gives {_shown(due)}", at)
            return
        if not outer or outer[-1].name not in _LEAVES[op.name]:
            allowed = " or ".join(_LEAVES[op.name])
            yield _error("early-exit", f"{op.name} stands in no {allowed}, or in a region that it cannot leave", at)
            return
        loop = outer[-1]
        carried = loop.operands["init_values"] if op.name == "continue" and loop.name == "loop" else loop.results
        assert isinstance(carried, tuple)
        due = [value.type for value in carried]
        if given != due:
            yield _error(
                f"{op.name}-types", f"{op.name} gives {_shown(given)} where {loop.name} needs {_shown(due)}", at
            )


def _shown(types: list[Type]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


def _error(rule: str, text: str, location: Location | None) -> VerifyError:
    return VerifyError(text, rule=rule, location=location)
