"""Proves a kernel's accesses for all blocks of a launch without running it; what fails is confirmed by a replay."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cutile_sim.errors import UsageError
from cutile_sim.findings import Finding, Severity, without_suppressed
from cutile_sim.frontend.params import LaunchParam, ListBuffer, PointerParam, ScalarParam
from cutile_sim.launch import check_grid
from cutile_sim.overlap import is_same, share
from cutile_sim.replay import replay
from cutile_sim.tileir.core import Function, Module
from ir_passes.symbolic import NOTHING, Check, Launch, Pointers, Poly, Proofs, Root, Symbol, Verdict, prove, quotient
from ir_passes.symbolic.conditions import ALWAYS, NEVER
from ir_passes.symbolic.values import Followed

_MAX_LENGTH = 2**31 - 1
_SEVERITY: dict[Check, Severity] = {
    Check.STORED_TILE: "warning",
    Check.LOADED_TILE: "warning",
    Check.COVERAGE: "warning",
}

_OTHER = {Check.DISJOINT_STORES: "the other store", Check.DISJOINT_LOADS: "the store"}


@dataclass(frozen=True)
class ProofReport(Proofs):
    """What was proved of a kernel.

    Attributes:
        verdicts: One a check and operation, in program order. What the replay did not confirm is "not checked".
        findings: What goes wrong, each confirmed by running the block that it names.
    """

    findings: tuple[Finding, ...]


def prove_launch(
    kernel: Any,
    grid: Any,
    *args: Any,
    sizes: Mapping[str, Any] | None = None,
    multiples: Mapping[str, int] | None = None,
    arch: str | None = None,
) -> ProofReport:
    """Check every access, division, shift, promise and address of a kernel for all blocks of a launch.

    Nothing is run but blocks that go wrong, on copies of the arrays. The cost does not depend on the grid.

    Args:
        kernel: A `@ct.kernel`, or a module decoded by `load`.
        grid: Blocks along x, y, z; with `sizes`, each may be an expression such as "cdiv(M, 64)".
        args: As for `simulate`.
        sizes: By parameter name: the shape to take an array to have, or the value of an integer, instead of the
            argument's. Numbers, or expressions of names, which stand for all values from 1 to 2**31 - 1: `{"a": ("M",
            "K")}`. An array that gets a shape is taken to be dense, in row-major order.
        multiples: By such name, what it is a multiple of.
        arch: The GPU to compile for.

    Raises:
        UsageError: The arguments, grid or expressions make no sense.
        cuda.tile.TileError: cuTile's own front-end refused the kernel.
    """
    function, module, params, flat_names = _compiled(kernel, args, arch)
    names = _Names(multiples or {})
    parameters = tuple(_parameters(params, flat_names, sizes or {}, names))
    terms = names.grid(grid)
    names.check_all_used()
    launch = Launch(terms, parameters, {g.name: len(g.data) for g in module.globals.values()}, _idle_strides(params))
    proofs = prove(function, launch)
    if sizes:
        return _report(proofs, lambda verdict: _confirm_anew(verdict, kernel, args, sizes, grid, names, arch))
    blocks = check_grid([n.value for n in terms])
    return _report(proofs, lambda verdict: replay(module, function, params, blocks, verdict))


def _compiled(
    kernel: Any, args: Sequence[Any], arch: str | None
) -> tuple[Function, Module, list[LaunchParam], tuple[str, ...]]:
    """Entry function, module, flat parameters and, for Python source, their names."""
    if isinstance(kernel, Module):
        from cutile_sim.api import entry_of
        from cutile_sim.frontend.bytecode import bind_entry

        function = entry_of(kernel)
        return function, kernel, bind_entry(function, args), ()
    from cutile_sim.frontend.export import prepare_launch

    compiled, params = prepare_launch(kernel, args, arch=arch)
    return compiled.entry, compiled.module, params, compiled.parameter_names


def _report(proofs: Proofs, confirm: Any) -> ProofReport:
    verdicts, findings = [], []
    for verdict in proofs.verdicts:
        if verdict.status == "violated":
            doubt = confirm(verdict)
            if doubt:
                verdict = replace(verdict, status="not checked", witness=None, condition="", reason=doubt)
            elif not verdict.is_note:
                findings.append(_finding(verdict))
        verdicts.append(verdict)
    return ProofReport(tuple(verdicts), without_suppressed(findings))


def _finding(verdict: Verdict) -> Finding:
    witness = verdict.witness
    assert witness is not None
    other = verdict.other.location if verdict.other is not None else None
    words = [f"{name} is {value}" for name, value in (*(witness.turns or {}).items(), *(witness.values or {}).items())]
    words += [f"with {name} = {value}" for name, value in (witness.parameters or {}).items()]
    if witness.other_block is not None:
        words.append(f"the other block is {witness.other_block}")
    if verdict.index is not None:
        words.append(f"such as {list(verdict.index)}")
    if verdict.condition:
        words.append(f"this happens whenever {verdict.condition}")
    return Finding(
        verdict.check.value,
        _SEVERITY.get(verdict.check, "error"),
        "; ".join([verdict.message, *words]),
        verdict.location,
        block=None if verdict.check is Check.COVERAGE else witness.block,
        lane=witness.lane or None,
        array=verdict.array,
        index=verdict.index,
        related=((_OTHER[verdict.check], other),) if other is not None else (),
        details={"proved": True, "parameters": dict(witness.parameters or {}), "condition": verdict.condition},
    )


class _Names:
    """Names in expressions for sizes, and what they stand for."""

    def __init__(self, multiples: Mapping[str, int]) -> None:
        self.multiples = multiples
        self.known: dict[str, Poly] = {}

    def check_all_used(self) -> None:
        for name in self.multiples:
            if name not in self.known:
                raise UsageError(f"no size is called {name!r}, of which a multiple is asked for")

    def grid(self, grid: Any) -> tuple[Poly, Poly, Poly]:
        parts = (grid,) if isinstance(grid, (int, str)) else tuple(grid)
        if not any(isinstance(p, str) for p in parts):
            x, y, z = check_grid(grid)
            return Poly.of(x), Poly.of(y), Poly.of(z)
        if not 1 <= len(parts) <= 3:
            raise UsageError(f"the grid has {len(parts)} dimensions, but a launch takes one to three")
        known = set(self.known)
        found = [self.term(p) for p in parts] + [Poly.of(1)] * (3 - len(parts))
        if new := [name for name in self.known if name not in known]:
            raise UsageError(
                f"the grid depends on {new[0]!r}, which is part of no size: give the size of an array, too"
            )
        return found[0], found[1], found[2]

    def term(self, text: Any) -> Poly:
        """A number or an expression. Raises UsageError."""
        if isinstance(text, int):
            return Poly.of(text)
        try:
            tree = ast.parse(str(text).strip(), mode="eval").body
        except SyntaxError:
            raise UsageError(f"{text!r} is no expression: write names, numbers, + - * // and cdiv(a, b)") from None
        return self._term(tree, text)

    def _term(self, node: ast.expr, text: str) -> Poly:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return Poly.of(node.value)
        if isinstance(node, ast.Name):
            return self._symbol(node.id)
        if isinstance(node, ast.BinOp):
            a, b = self._term(node.left, text), self._term(node.right, text)
            if isinstance(node.op, ast.Add):
                return a + b
            if isinstance(node.op, ast.Sub):
                return a - b
            if isinstance(node.op, ast.Mult):
                return a * b
            if isinstance(node.op, ast.FloorDiv) and b.bounds[0] >= 1:
                return quotient(a, b)
        if _is_cdiv(node):
            a, b = (self._term(n, text) for n in node.args)  # type: ignore[attr-defined]
            if b.bounds[0] >= 1:
                return quotient(a + b - 1, b)
        raise UsageError(f"{text!r} is more than names, numbers, + - * // and cdiv(a, b), with divisors of 1 or more")

    def _symbol(self, name: str) -> Poly:
        if name not in self.known:
            unit = self.multiples.get(name, 1)
            if unit < 1:
                raise UsageError(f"{name} is to be a multiple of {unit}, which is less than 1")
            self.known[name] = Poly.of(Symbol(name, "parameter", 1, _MAX_LENGTH // unit, unit=unit)) * unit
        return self.known[name]

    def value(self, text: Any, numbers: Mapping[str, int]) -> int:
        """An expression's value for numbers by name."""
        from ir_passes.symbolic.evaluate import value_of

        by_symbol = {}
        for name, poly in self.known.items():
            for atom in poly.atoms:
                assert isinstance(atom, Symbol)
                by_symbol[atom] = numbers.get(name, atom.unit) // atom.unit
        return value_of(self.term(text), by_symbol)


def _is_cdiv(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "cdiv"
        and len(node.args) == 2
        and not node.keywords
    )


def _parameters(
    params: list[LaunchParam], flat_names: tuple[str, ...], sizes: Mapping[str, Any], names: _Names
) -> list[Followed]:
    arrays = [p.array for p in params if isinstance(p, PointerParam)]
    roots: dict[tuple[object, ...], Root] = {}
    found: list[Followed] = []
    lengths: list[Poly] = []
    used = set()
    for param in params:
        if isinstance(param, PointerParam):
            array = param.array
            shape, strides = tuple(map(Poly.of, array.shape)), tuple(map(Poly.of, array.strides_elems))
            if array.name in sizes:
                used.add(array.name)
                shape, strides = _replaced(array.name, sizes[array.name], len(array.shape), names)
                lengths = [*shape, *strides]
            align = min(array.address & -array.address, 1 << 12) if array.address else 1 << 12
            place = (array.address, shape, strides, array.element.size_bytes)
            root = Root(
                array.name,
                shape,
                strides,
                array.element.size_bytes,
                len(found),
                align,
                array.writeable,
                shared_with=frozenset(
                    a.name for a in arrays if not is_same(a, array) and share(a, array, if_unknown=True)
                ),
                same_as=roots.get(place),
            )
            roots.setdefault(place, root)
            found.append(Pointers(root, Poly.of(0)))
        elif isinstance(param, ListBuffer):
            buffer = Root("the list of arrays", (Poly.of(len(param.words)),), (Poly.of(1),), 8, len(found), 8, False)
            found.append(Pointers(buffer, Poly.of(0)))
        else:
            found.append(lengths.pop(0) if lengths else _scalar(param))
    for name, value in sizes.items():
        position = flat_names.index(name) if name in flat_names else None
        if position is not None and isinstance(found[position], Poly):
            found[position] = names.term(value)
        elif name not in used:
            raise UsageError(f"no array and no integer parameter is called {name!r}")
    return found


def _idle_strides(params: list[LaunchParam]) -> frozenset[int]:
    """Positions of strides along axes of one element: a launch does not look whether they keep what is promised."""
    found = set()
    for position, param in enumerate(params):
        if isinstance(param, PointerParam):
            shape = param.array.shape
            found |= {position + 1 + len(shape) + d for d, n in enumerate(shape) if n == 1}
    return frozenset(found)


def _scalar(param: ScalarParam) -> Followed:
    if not param.element.is_integer:
        return NOTHING
    if param.element.width_bits == 1:
        return ALWAYS if param.value else NEVER
    return Poly.of(int(param.value))


def _replaced(name: str, shape: Any, ndim: int, names: _Names) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
    parts = (shape,) if isinstance(shape, (int, str)) else tuple(shape)
    if len(parts) != ndim:
        raise UsageError(f"array {name!r} has {ndim} dimensions, but a shape of {len(parts)} is given for it: {parts}")
    terms = [names.term(p) for p in parts]
    strides: list[Poly] = []
    reach = Poly.of(1)
    for length in reversed(terms):
        strides.insert(0, reach)
        reach = reach * length
    return tuple(terms), tuple(strides)


def _confirm_anew(
    verdict: Verdict, kernel: Any, args: Sequence[Any], sizes: Mapping[str, Any], grid: Any, names: _Names, arch: Any
) -> str:
    """Why a verdict on open sizes is not confirmed: it is, where the same goes wrong with arrays of its own sizes."""
    from cutile_sim.frontend.annotations import kernel_parameters

    assert verdict.witness is not None
    if isinstance(kernel, Module):
        return "a counterexample for other sizes can be replayed only from Python source"
    numbers = verdict.witness.parameters or {}
    made = []
    for name, arg in zip(kernel_parameters(kernel).names, args, strict=True):
        if name not in sizes:
            made.append(arg)
            continue
        value = sizes[name]
        parts = (value,) if isinstance(value, (int, str)) else tuple(value)
        concrete = tuple(names.value(p, numbers) for p in parts)
        if not hasattr(arg, "shape"):
            made.append(concrete[0])
            continue
        array = _zeros(arg, concrete)
        if array is None:
            return f"its counterexample needs an array of shape {concrete}, too large to replay"
        made.append(array)
    parts = (grid,) if isinstance(grid, (int, str)) else tuple(grid)
    blocks = tuple(names.value(p, numbers) for p in parts)
    again = prove_launch(kernel, blocks, *made, arch=arch)
    place = verdict.location
    for other in again.of("violated"):
        if other.check is verdict.check and other.location == place:
            return ""
    return f"its counterexample ({verdict.witness}) was not confirmed by replaying it"


def _zeros(like: Any, shape: tuple[int, ...]) -> Any:
    """A NumPy array of zeros of an array's element type; None where it is too large to make."""
    import numpy as np

    from cutile_sim.frontend.arrays import read_array

    count = 1
    for n in shape:
        count *= n
    if not 0 <= count <= 2**28:
        return None
    return np.zeros(
        shape, getattr(like, "dtype", None) if isinstance(like, np.ndarray) else read_array(like, "").element.storage
    )
