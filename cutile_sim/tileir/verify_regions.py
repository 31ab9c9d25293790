"""Rules of operations with regions, and of printing."""

from __future__ import annotations

from collections.abc import Iterator

from cutile_sim.tileir.core import Module, Op
from cutile_sim.tileir.types import (
    TileType,
    TokenType,
)
from cutile_sim.tileir.verify_rules import many_of, rule, tile_of

# Regions


@rule("loop-values", "for", "loop")
def _loop_values(op: Op, module: Module) -> Iterator[str]:
    arguments = [value.type for value in op.regions[0].arguments]
    starts = [value.type for value in many_of(op, "init_values")]
    if op.name == "for":
        bound = tile_of(op, "lower_bound")
        if not arguments or arguments[0] != bound:
            yield f"its first region argument must be the counter, a {bound}"
            return
        arguments = arguments[1:]
        if [value.type for value in op.results] != starts:
            yield "its results must have the types of its initial values"
    if arguments != starts:
        yield "its region arguments must have the types of its initial values"
    if any(not isinstance(kind, TileType | TokenType) for kind in (*arguments, *(v.type for v in op.results))):
        yield "a view cannot be carried from turn to turn"


@rule("if-results", "if")
def _if_results(op: Op, module: Module) -> Iterator[str]:
    if any(not isinstance(value.type, TileType | TokenType) for value in op.results):
        yield "its results cannot be views"
    if any(region.arguments for region in op.regions):
        yield "its regions take no arguments"


@rule("aggregate", "reduce", "scan")
def _aggregate(op: Op, module: Module) -> Iterator[str]:
    tiles = [value.type for value in many_of(op, "operands")]
    results = [value.type for value in op.results]
    dim, region, identities = op.attributes["dim"], op.regions[0], op.attributes["identities"]
    if not tiles or not isinstance(tiles[0], TileType) or dim >= len(tiles[0].shape):
        yield f"dimension {dim} does not exist in {', '.join(map(str, tiles)) or 'no operands'}"
        return
    elements = [kind.element for kind in tiles if isinstance(kind, TileType)]
    shape = tiles[0].shape if op.name == "scan" else tiles[0].shape[:dim] + tiles[0].shape[dim + 1 :]
    if results != [TileType(element, shape) for element in elements]:
        yield f"its results must be {', '.join(str(TileType(element, shape)) for element in elements)}"
    if [getattr(identity, "type", None) for identity in identities] != elements:
        yield "its identities must be one for each operand, of the operand's element type"
    scalars = [TileType(element, ()) for element in elements]
    if [value.type for value in region.arguments] != [kind for kind in scalars for _ in range(2)]:
        yield "its region must take two scalars for each operand"
    if region.ops and [value.type for value in region.ops[-1].inputs] != scalars:
        yield "its region must yield one scalar for each operand"
    for inner in region.ops[:-1]:
        for nested in inner.walk():
            if nested.spec.effect not in ("pure", "control"):
                yield f"only pure operations may stand inside {op.name}, and {nested.name} is not"


@rule("print-arguments", "print_tko")
def _print_arguments(op: Op, module: Module) -> Iterator[str]:
    text, due, at = op.attributes["format"], 0, 0
    while (at := text.find("%", at)) >= 0:
        if text[at : at + 2] == "%%":
            at += 2
            continue
        due, at = due + 1, at + 1
    if due != len(many_of(op, "args")):
        yield f"its format has {due} places for {len(many_of(op, 'args'))} values"
