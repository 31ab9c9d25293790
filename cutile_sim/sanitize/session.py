"""Sanitized launches of a program or a test suite: many launches, one collection of findings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from cutile_sim.errors import CutileSimError
from cutile_sim.findings import Finding
from cutile_sim.sanitize.options import SanitizeOptions
from cutile_sim.sanitize.sanitizer import Sanitizer


class Session:
    """Collects what is found in launches, each mistake once.

    session = Session()
    with session.watching() as observer:
        launch(program, grid, params, observer=observer, ...)   # the program made `watched`
    for finding in session.take(): ...
    """

    def __init__(self, options: SanitizeOptions | None = None) -> None:
        self.options = options or SanitizeOptions()
        self._found: dict[tuple[object, ...], Finding] = {}

    @contextmanager
    def watching(self) -> Iterator[Sanitizer]:
        """An observer for one launch; its findings, and the error that stops the launch, are collected."""
        sanitizer = Sanitizer(self.options)
        try:
            yield sanitizer
        except CutileSimError as error:
            error.findings = sanitizer.findings_with(error)
            self.add(error.findings)
            raise
        self.add(sanitizer.findings)

    def add(self, findings: tuple[Finding, ...]) -> None:
        """Collect findings; of those with the same id, line and array the first is kept, and counts for all."""
        for finding in findings:
            key = finding.id, finding.location, finding.array
            known = self._found.get(key)
            self._found[key] = finding if known is None else replace(known, count=known.count + finding.count)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What has been found since the last `take`."""
        return tuple(self._found.values())

    def take(self) -> tuple[Finding, ...]:
        """What has been found since the last time, such as since the test before."""
        found = self.findings
        self._found.clear()
        return found
