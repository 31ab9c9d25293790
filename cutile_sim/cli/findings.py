"""Options and output that commands with findings share: baseline, SARIF, what counts as wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from cutile_sim import __version__
from cutile_sim.errors import UsageError
from cutile_sim.findings import Finding, read_baseline, sarif, write_baseline

F = TypeVar("F", bound=Callable[..., Any])


def findings_options(command: F) -> F:
    """`--sarif`, `--baseline` and `--write-baseline`."""
    for option in (
        click.option("--write-baseline", metavar="FILE", help="Write what is found to a baseline file."),
        click.option("--baseline", metavar="FILE", help="Leave out what is in a baseline file."),
        click.option("--sarif", "sarif_path", metavar="FILE", help="Write what is found as SARIF, for code hosts."),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Report:
    """Findings to show: `new` ones, and how many the baseline knows."""

    new: tuple[Finding, ...]
    known: int

    @property
    def is_bad(self) -> bool:
        """Whether anything is wrong, or most likely so."""
        return any(f.severity != "note" for f in self.new)

    def print(self) -> None:
        """Print the findings and a line that counts them."""
        for finding in self.new:
            click.echo(str(finding))
        click.echo(self.summary)

    @property
    def summary(self) -> str:
        """How many findings, in words."""
        count = len(self.new)
        text = "nothing was found" if not count else f"{count} finding" + ("s" if count > 1 else "")
        return text + (f", {self.known} more in the baseline" if self.known else "")


def report_of(
    findings: Iterable[Finding], sarif_path: str | None, baseline: str | None, new_baseline: str | None
) -> Report:
    """Compare findings with a baseline, and write the files that are asked for. Raises UsageError."""
    found = tuple(findings)
    known = read_baseline(baseline) if baseline is not None else frozenset()
    new = tuple(f for f in found if f.fingerprint not in known)
    if new_baseline is not None:
        write_baseline(new_baseline, found)
    if sarif_path is not None:
        try:
            with open(sarif_path, "w", encoding="utf-8") as file:
                json.dump(sarif(new, __version__), file, indent=2)
                file.write("\n")
        except OSError as error:
            raise UsageError(f"cannot write {sarif_path}: {error.strerror or error}") from None
    return Report(new, len(found) - len(new))
