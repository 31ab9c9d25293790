"""From a condition that must not hold to a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutile_sim.tileir.core import Op, Value
from ir_passes.symbolic.conditions import Any, AtLeastZero, Condition, both, is_sum, polys_of, symbols
from ir_passes.symbolic.evaluate import holds, replace, value_of
from ir_passes.symbolic.events import Launch, Trace
from ir_passes.symbolic.report import Check, Clash, Verdict, Witness
from ir_passes.symbolic.solve import can_hold, never_negative
from ir_passes.symbolic.terms import Poly, Symbol, UndeterminedError

MAX_TURNS_REPLAYED = 4096


@dataclass
class Judge:
    """Decides for one launch."""

    trace: Trace
    launch: Launch
    unsigned_reads: frozenset[Value] = frozenset()
    """Values that some operation reads as unsigned."""
    clashes: dict[object, Clash] = field(default_factory=dict)
    """What is known of pairs of accesses, by both places."""

    def judge(
        self,
        check: Check,
        bad: Condition,
        given: Condition,
        *,
        fine: str,
        wrong: str,
        op: Op | None = None,
        values: dict[str, Poly] | None = None,
        array: str | None = None,
        lanes: tuple[int, ...] = (),
    ) -> Verdict:
        """The verdict on `bad`, which must never hold where `given` does.

        `fine` and `wrong` are its words. `values` are shown of the witness. `lanes` is the shape of the tile.
        """
        order = sorted((s for s in symbols(bad) if s.kind in ("block", "turn")), key=lambda s: s.number)
        answer = can_hold(bad, given, order=order)
        if answer.kind == "never":
            return Verdict(check, "proved", fine, op, array=array)
        if answer.kind == "open":
            return Verdict(check, "not checked", fine, op, reason=answer.reason, array=array)
        numbers = dict(answer.numbers or {})
        if ended := self.ended_before(numbers):
            return Verdict(check, "not checked", fine, op, reason=ended, array=array)
        return Verdict(
            check,
            "violated",
            wrong,
            op,
            self.witness(numbers, values or {}, lanes),
            condition=self.failing_condition(bad, given),
            array=array,
        )

    def ended_before(self, numbers: dict[Symbol, int]) -> str:
        """Why a loop may have ended before the turns that numbers name; "" where it has not."""
        for turn, number in list(numbers.items()):
            exits = self.trace.exits.get(turn)
            if not exits:
                continue
            if number > MAX_TURNS_REPLAYED:
                return f"the loop may have ended before turn {number}"
            try:
                for earlier in range(number):
                    if any(holds(condition, {**numbers, turn: earlier}) for condition in exits):
                        return f"the loop has ended before turn {number}"
            except UndeterminedError as error:
                return f"how often the loop runs depends on {error.reason}"
        return ""

    def witness(self, numbers: dict[Symbol, int], values: dict[str, Poly], lanes: tuple[int, ...]) -> Witness:
        block, lane = [0, 0, 0], [0] * len(lanes)
        turns, parameters, shown = {}, {}, {}
        for symbol, number in sorted(numbers.items(), key=lambda item: item[0].number):
            if symbol.kind == "block":
                block[symbol.axis] = number
            elif symbol.kind == "turn":
                turns[symbol.name] = number
            elif symbol.kind == "lane" and symbol.axis < len(lane):
                lane[symbol.axis] = number
            elif symbol.kind == "parameter":
                parameters[symbol.name] = number * symbol.unit
        for name, poly in values.items():
            try:
                shown[name] = value_of(poly, {s: 0 for s in symbols(poly) if not s.is_unknown} | numbers)
            except UndeterminedError:
                continue
        x, y, z = block
        return Witness((x, y, z), None, turns, tuple(lane), parameters, shown, numbers)

    def failing_condition(self, bad: Condition, given: Condition) -> str:
        """When `bad` can hold, in launch parameters only; "" where that is not known, or nothing was left open.

        Known where the worst block, turn and lane can be read off: each occurs linearly, with a factor of known sign.
        """
        if not any(s.kind == "parameter" for s in symbols(bad, given)):
            return ""
        options = []
        for part in bad.parts if isinstance(bad, Any) else (bad,):
            if not isinstance(part, AtLeastZero):
                return ""
            if can_hold(part, given).kind == "never":
                continue
            worst = self._worst(part.poly)
            if worst is None:
                return ""
            options.append(worst)
        if len(options) != 1 or not self._decides(options[0], given):
            return ""
        return str(AtLeastZero(options[0]))

    def _decides(self, worst: Poly, given: Condition) -> bool:
        """Whether the rest of the path leaves the worst case in: it says nothing of symbols but the parameters'."""
        return all(
            all(s.kind == "parameter" for s in symbols(p)) or never_negative(p, [worst]) for p in polys_of(given)
        )

    def _worst(self, poly: Poly) -> Poly | None:
        """The largest value over blocks, turns and lanes."""
        if not is_sum(poly):
            return None
        for symbol in sorted((s for s in symbols(poly) if s.kind != "parameter"), key=lambda s: -s.number):
            factor = poly.coefficient(symbol) if symbol in poly.atoms else None
            if factor is None or symbol.is_unknown:
                return None
            if never_negative(factor):
                top = self._top(symbol)
                if top is None:
                    return None
                poly = replace(poly, {symbol: top})
            elif never_negative(-factor):
                poly = replace(poly, {symbol: Poly.of(0)})
            else:
                return None
        return poly

    def _top(self, symbol: Symbol) -> Poly | None:
        """The largest value a symbol takes, where that is one term."""
        if symbol.facts:
            slope = symbol.facts[0].coefficient(symbol)
            if len(symbol.facts) == 1 and slope is not None and slope.value == -1:
                return symbol.facts[0] + symbol
            return None
        return Poly.of(int(symbol.high)) if symbol.high < float("inf") else None


def implied(conditions: Condition, facts: list[Poly]) -> bool:
    """Whether facts show that all parts of a condition hold."""
    parts = getattr(conditions, "parts", (conditions,)) if not isinstance(conditions, Any) else (conditions,)
    for part in parts:
        if isinstance(part, AtLeastZero):
            if not never_negative(part.poly, facts):
                return False
        elif part != both():
            return False
    return True
