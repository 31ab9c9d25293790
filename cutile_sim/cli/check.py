"""`cutile-sim check`: compile and verify kernels without running them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cutile_sim.checker import CheckReport
from cutile_sim.checker import check as check_kernel
from cutile_sim.cli.findings import Report, findings_options, report_of
from cutile_sim.cli.output import FINDINGS, USAGE, json_option, nearest, print_json
from cutile_sim.cli.proving import Wanted, print_proofs, proof_fields, proof_options, wanted
from cutile_sim.cli.specs import split_argument
from cutile_sim.cli.targets import Arguments, MissingArgumentsError, Target, argument_options, open_all
from cutile_sim.errors import UsageError


@dataclass(frozen=True)
class _Outcome:
    """What became of one kernel: a report, or the reason why there is none."""

    target: Target
    report: CheckReport | None
    reason: str = ""


@click.command()
@click.argument("files", metavar="FILE[::KERNEL]...", nargs=-1, required=True)
@argument_options
@click.option(
    "--arch", metavar="GPU", help="Compile for this GPU, such as sm_90; with tileiras too where it is installed."
)
@proof_options
@findings_options
@json_option
def check(
    files: tuple[str, ...],
    specs: tuple[str, ...],
    seed: int,
    arch: str | None,
    grid_text: str | None,
    prove: bool,
    sizes: tuple[str, ...],
    multiples: tuple[str, ...],
    sarif_path: str | None,
    baseline: str | None,
    write_baseline: str | None,
    as_json: bool,
) -> None:
    """Compile and verify without running.

    Takes all kernels of the files. With --grid or --prove it also proves, for all blocks at once, that accesses stay
    inside their arrays, that blocks do not store to one element, and more.
    Arguments come from inputs_KERNEL() or inputs() in the file and from --arg. A kernel that gets none cannot be
    compiled: it is reported as not checked. Exit code 1 if anything is wrong, 2 if in one of the files no kernel could
    be checked.

    \b
    Example:
      cutile-sim check examples/*.py --arch sm_90
      cutile-sim check examples/matmul.py --prove
      cutile-sim check examples/matmul.py --grid 'cdiv(M,64),cdiv(N,64)' --size a=M,K --size b=K,N --size c=M,N
    """
    groups = [open_all(file) for file in files]
    _refuse_unused(specs, [target for group in groups for target in group])
    proofs = wanted(grid_text, prove, sizes, multiples)
    outcomes = [[_check_one(target, specs, seed, arch, proofs) for target in group] for group in groups]
    flat = [outcome for group in outcomes for outcome in group]
    all_findings = [f for outcome in flat if outcome.report is not None for f in outcome.report.findings]
    found = report_of(all_findings, sarif_path, baseline, write_baseline)
    flat = [_only(outcome, found) for outcome in flat]
    if as_json:
        print_json({"kernels": [_fields(outcome) for outcome in flat], "findings_in_baseline": found.known})
    else:
        _print(flat, found.known)
    if any(outcome.report is not None and not outcome.report.ok for outcome in flat):
        raise click.exceptions.Exit(FINDINGS)
    if any(all(outcome.report is None for outcome in group) for group in outcomes):
        raise click.exceptions.Exit(USAGE)


def _only(outcome: _Outcome, found: Report) -> _Outcome:
    """The outcome without the findings that a baseline knows."""
    if outcome.report is None or not found.known:
        return outcome
    return replace(outcome, report=outcome.report.only(found.new))


def _check_one(target: Target, specs: Sequence[str], seed: int, arch: str | None, proofs: Wanted | None) -> _Outcome:
    names = target.parameter_names
    if names is None:
        if proofs is not None:
            given = target.arguments(specs, seed)
            return _Outcome(target, _with_proofs(target, given, arch, proofs))
        content = Path(target.label.partition("::")[0]).read_bytes()
        return _Outcome(target, check_kernel(content, arch=arch))
    try:
        given = target.arguments([spec for spec in specs if split_argument(spec)[0] in names], seed)
    except MissingArgumentsError as error:
        return _Outcome(target, None, error.reason)
    return _Outcome(target, _with_proofs(target, given, arch, proofs))


def _with_proofs(target: Target, given: Arguments, arch: str | None, proofs: Wanted | None) -> CheckReport:
    if proofs is None:
        return check_kernel(target.kernel, *given.values.values(), arch=arch)
    grid = given.grid if proofs.grid is None else proofs.grid
    if grid is None:
        raise UsageError(f"{target.label}: proofs need a grid: give --grid, or a grid in the dict of inputs()")
    return check_kernel(
        target.kernel,
        *given.values.values(),
        arch=arch,
        grid=grid,
        sizes=proofs.sizes,
        multiples=proofs.multiples,
    )


def _refuse_unused(specs: Sequence[str], targets: Sequence[Target]) -> None:
    """Raise UsageError for an argument that no kernel takes."""
    known = {name for target in targets for name in target.parameter_names or ()}
    for spec in specs:
        name, _ = split_argument(spec)
        if name not in known:
            raise UsageError(f"no kernel has a parameter {name!r}{nearest(name, known)}")


def _print(outcomes: Sequence[_Outcome], known: int) -> None:
    for outcome in outcomes:
        label, report = outcome.target.label, outcome.report
        if report is None:
            click.echo(f"{label}: NOT CHECKED: {outcome.reason}")
            continue
        click.echo(f"{label}: " + ("ok" if report.ok else f"{len(report.findings)} finding(s)"))
        for finding in report.findings:
            click.echo(str(finding))
        for note in report.notes:
            click.echo(f"  {note}")
        if report.proofs is not None:
            print_proofs(report.proofs)
    checked = [outcome.report for outcome in outcomes if outcome.report is not None]
    bad = sum(not report.ok for report in checked)
    click.echo(
        f"{len(checked)} checked, {bad} with findings, {len(outcomes) - len(checked)} not checked"
        + (f", {known} more in the baseline" if known else "")
    )


def _fields(outcome: _Outcome) -> dict[str, Any]:
    report = outcome.report
    return {
        "kernel": outcome.target.label,
        "checked": report is not None,
        "reason": outcome.reason or None,
        "ok": report.ok if report is not None else None,
        "findings": [f.to_json() for f in (report.findings if report is not None else ())],
        "notes": list(report.notes) if report is not None else [],
        "proofs": list(proof_fields(report.proofs)) if report is not None and report.proofs is not None else None,
    }
