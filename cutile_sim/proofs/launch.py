"""A launch, proved: what is violated is confirmed by the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cutile_sim.findings import Finding, without_suppressed
from cutile_sim.frontend.params import LaunchParam
from cutile_sim.launch import check_grid
from cutile_sim.proofs.findings import finding
from cutile_sim.proofs.parameters import idle_strides, parameters
from cutile_sim.proofs.sizes import Names
from cutile_sim.replay import replay
from cutile_sim.tileir.core import Function, Module
from ir_passes.symbolic import Launch, Proofs, Verdict, forget, prove


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
    forget()
    names = Names(multiples or {})
    followed = tuple(parameters(params, flat_names, sizes or {}, names))
    terms = names.grid(grid)
    names.check_all_used()
    launch = Launch(terms, followed, {g.name: len(g.data) for g in module.globals.values()}, idle_strides(params))
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
                findings.append(finding(verdict))
        verdicts.append(verdict)
    return ProofReport(tuple(verdicts), without_suppressed(findings))


def _confirm_anew(
    verdict: Verdict, kernel: Any, args: Sequence[Any], sizes: Mapping[str, Any], grid: Any, names: Names, arch: Any
) -> str:
    """Why a verdict on open sizes is not confirmed: it is, where the same goes wrong with arrays of its own sizes."""
    from cutile_sim.frontend.annotations import kernel_parameters

    assert verdict.witness is not None
    if isinstance(kernel, Module):
        return "a counterexample for other sizes can be replayed only from Python source"
    numbers = verdict.witness.parameters or {}
    made = []
    # An array that is passed twice stays one.
    zeros: dict[Any, Any] = {}
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
        array = zeros.get((id(arg), concrete))
        if array is None:
            array = zeros[id(arg), concrete] = _zeros(arg, concrete)
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
