"""What `cutile-sim check` takes and shows of proofs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cutile_sim.errors import UsageError
from cutile_sim.numerals import whole_number

if TYPE_CHECKING:
    from cutile_sim.proofs import ProofReport
    from ir_passes.symbolic import Verdict

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Wanted:
    """What to prove: `grid` as for `prove_launch`, None for the file's own."""

    grid: Any
    sizes: dict[str, Any]
    multiples: dict[str, int]


def proof_options(command: F) -> F:
    """`--grid`, `--prove`, `--size` and `--multiple`."""
    for option in (
        click.option(
            "--multiple", "multiples", multiple=True, metavar="NAME=N", help="A name's values: multiples of N."
        ),
        click.option(
            "--size",
            "sizes",
            multiple=True,
            metavar="NAME=SHAPE",
            help="Take an array to have this shape, such as a=M,K: numbers, or names that stand for all values.",
        ),
        click.option("--prove", is_flag=True, help="Prove all accesses, for the grid that the file gives."),
        click.option(
            "--grid", "grid_text", metavar="X[,Y[,Z]]", help="Prove all accesses for this grid, such as 4,cdiv(M,64)."
        ),
    ):
        command = option(command)
    return command


def wanted(grid_text: str | None, prove: bool, sizes: Sequence[str], multiples: Sequence[str]) -> Wanted | None:
    """What the options ask for; None where nothing is to be proved. Raises UsageError."""
    if grid_text is None and not prove:
        if sizes or multiples:
            raise UsageError("--size and --multiple are for proofs: give --grid or --prove too")
        return None
    grid = None if grid_text is None else tuple(map(_number, _split(grid_text)))
    found = Wanted(grid, {}, {})
    for text in sizes:
        name, shape = _named(text, "--size")
        found.sizes[name] = tuple(map(_number, _split(shape)))
    for text in multiples:
        name, number = _named(text, "--multiple")
        multiple = whole_number(number)
        if multiple is None:
            raise UsageError(f"--multiple {text}: write a name and a whole number, such as M=16")
        found.multiples[name] = multiple
    return found


def _named(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise UsageError(f"{option} {text}: write NAME=VALUE")
    return name.strip(), value.strip()


def _number(text: str) -> int | str:
    number = whole_number(text.strip())
    return text.strip() if number is None else number


def _split(text: str) -> list[str]:
    """At commas that stand in no parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def print_proofs(proofs: ProofReport) -> None:
    """One line a verdict on an access, and how many others were proved."""
    others = 0
    for verdict in proofs.verdicts:
        if verdict.status == "proved" and verdict.check.name in _ARITHMETIC:
            others += 1
            continue
        word = "NOTE" if verdict.status == "violated" and verdict.is_note else verdict.status.upper()
        click.echo(f"  {word:<12} {_place(verdict)}: {verdict.message}{_tail(verdict)}")
    click.echo(f"  {'PROVED':<12} {others} checks of divisions, shifts, overflow and promises")
    open_ones = len(proofs.of("not checked"))
    if open_ones:
        click.echo(f"  {open_ones} of {len(proofs.verdicts)} checks could NOT be made: nothing is known about these")


_ARITHMETIC = ("ASSUMPTION", "OVERFLOW", "DIVISION", "LEAST_BY_MINUS_ONE", "SHIFT")


def _place(verdict: Verdict) -> str:
    at = verdict.location
    return f"{os.path.basename(at.file)}:{at.line}" if at is not None else "all stores"


def _tail(verdict: Verdict) -> str:
    tail = f" (not known: {verdict.reason})" if verdict.status == "not checked" else ""
    if verdict.status == "violated":
        tail = f" [{verdict.check.value}]"
    return tail


def proof_fields(proofs: ProofReport) -> Iterator[dict[str, Any]]:
    """The verdicts for JSON."""
    for verdict in proofs.verdicts:
        at = verdict.location
        yield {
            "check": verdict.check.value,
            "title": verdict.check.title,
            "status": verdict.status,
            "message": verdict.message,
            "reason": verdict.reason or None,
            "condition": verdict.condition or None,
            "array": verdict.array,
            "file": at.file if at is not None else None,
            "line": at.line if at is not None else None,
            "operation": verdict.op.name if verdict.op is not None else None,
        }
