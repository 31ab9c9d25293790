"""What an operation yields that steers nothing: by its rule, or as the launch gives block ids, sizes and memory."""

from __future__ import annotations

from collections.abc import Sequence

from cutile_sim.tileir.core import Op, Value
from ir_passes.symbolic.conditions import Condition, unknowns
from ir_passes.symbolic.events import Launch
from ir_passes.symbolic.layout import index_space
from ir_passes.symbolic.numbers import pointee_bytes
from ir_passes.symbolic.rules import apply_rule
from ir_passes.symbolic.terms import ZERO, Poly, Symbol
from ir_passes.symbolic.values import NOTHING, Followed, Lost, Nothing, Pointers, Root, Tensor, Tiles, unknown
from ir_passes.symbolic.words import in_words, line_of


class Results:
    """Results of operations in one launch. `blocks` are the block's ids."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.blocks = _block_ids(launch)
        self.globals: dict[str, Root] = {}

    def of(self, op: Op, operands: tuple[Followed, ...], facts: list[Poly]) -> Sequence[Followed]:
        """What each result is, where the operation is reached."""
        if op.name == "get_tile_block_id":
            return self.blocks
        if op.name == "get_num_tile_blocks":
            return self.launch.grid
        if op.name == "get_index_space_shape" and isinstance(operands[0], Tiles):
            return index_space(operands[0])
        if op.name == "get_tensor_shape" and isinstance(operands[0], Tensor):
            return operands[0].shape
        if op.name == "get_global":
            return [self._global(op)]
        if op.name == "alloca":
            size = pointee_bytes(op.results[0])
            count = Poly.of(op.attributes["num_elem"])
            return [Pointers(Root("memory of the block", (count,), (Poly.of(1),), size, is_own=True), ZERO)]
        if op.spec.effect in ("read", "read_write"):
            return [unknown(r.type, f"data read at {line_of(op)}", data=True, name="data") for r in op.results]
        if op.spec.effect != "pure":
            return [NOTHING for _ in op.results]
        found = apply_rule(op, operands, facts)
        return [found] if found is not None else [not_followed(op, operands, r) for r in op.results]

    def _global(self, op: Op) -> Followed:
        name = op.attributes["name"]
        size = self.launch.globals_bytes.get(name)
        if size is None:
            return Lost(f"of global {name}")
        item = pointee_bytes(op.results[0])
        if name not in self.globals:
            self.globals[name] = Root(f"global {name}", (Poly.of(size // item),), (Poly.of(1),), item)
        return Pointers(self.globals[name], ZERO)


def _block_ids(launch: Launch) -> tuple[Poly, Poly, Poly]:
    found = []
    for axis, size in enumerate(launch.grid):
        if size.value == 1:
            found.append(ZERO)
            continue
        symbol = Symbol(f"block.{'xyz'[axis]}", "block", 0, size.bounds[1] - 1, axis=axis)
        if size.value is None:
            symbol.facts = (size - 1 - symbol,)
        found.append(Poly.of(symbol))
    return found[0], found[1], found[2]


def not_followed(op: Op, operands: Sequence[Followed], result: Value) -> Followed:
    """A result of which nothing is known, and why: an operand's reason, or that there is no rule."""
    why, is_data = _why(op, operands)
    return unknown(result.type, why, data=is_data)


def _why(op: Op, operands: Sequence[Followed]) -> tuple[str, bool]:
    """Why a result is not known, and whether data from memory is to blame."""
    for operand in operands:
        if isinstance(operand, Lost):
            return operand.reason, False
        if isinstance(operand, (Poly, Condition)) and (found := unknowns(operand)):
            return found[0].why, found[0].kind == "data"
    if any(isinstance(operand, Nothing) for operand in operands):
        return f"floating-point data at {line_of(op)}", True
    return f"{in_words(op)} at {line_of(op)}, which is not followed", False
