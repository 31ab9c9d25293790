"""What is wrong with a kernel: one kind of report for the compiler's complaints, the sanitizer and the proofs."""

from __future__ import annotations

import hashlib
import json
import linecache
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cutile_sim.errors import UsageError
from cutile_sim.source import describe

if TYPE_CHECKING:
    from cutile_sim.tileir.core import Location

Severity = Literal["error", "warning", "note"]

_IGNORE = re.compile(r"#\s*cutile-sim:\s*ignore(?:\[([^\]]*)\])?")
BASELINE_VERSION = 1
_PROPERTIES = ("block", "lane", "array", "index", "count", "details")
"""What SARIF has no field for."""


@dataclass(frozen=True)
class Finding:
    """Something wrong with a kernel.

    Attributes:
        id: A stable id: `CTS101` and the like (docs/findings.md); `compile` for what cuTile's front-end refuses,
            `tileiras` for what NVIDIA's compiler says, else the name of the rule of Tile IR that is broken.
        severity: "error" for what is wrong for certain, "warning" for what most likely is, "note" for what may be
            meant.
        message: What is wrong, in one sentence.
        location: Where in the kernel's source, if known.
        block: The block (x, y, z) where it was seen first.
        lane: The position in the tile.
        array: The array argument.
        index: The index in that array.
        related: Other places that belong to it, each with a word on it.
        count: How often it was seen.
        details: Further values for programs.
    """

    id: str
    severity: Severity
    message: str
    location: Location | None = None
    block: tuple[int, int, int] | None = None
    lane: tuple[int, ...] | None = None
    array: str | None = None
    index: tuple[int, ...] | None = None
    related: tuple[tuple[str, Location], ...] = ()
    count: int = 1
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        place = ""
        if self.block is not None:
            place = f" (block {self.block}" + (f", lane {self.lane}" if self.lane else "") + ")"
        lines = [f"{self.severity}: {self.message}{place} [{self.id}]"]
        if where := describe(self.location):
            lines.append(where)
        for word, location in self.related:
            lines.append(f"  {word}:")
            lines.append(describe(location))
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The finding for JSON: unknown fields are null."""
        at = self.location
        return {
            "id": self.id,
            "severity": self.severity,
            "message": self.message,
            "file": None if at is None else at.file,
            "line": None if at is None else at.line,
            "column": None if at is None else at.column or None,
            "function": None if at is None else at.function or None,
            "block": None if self.block is None else list(self.block),
            "lane": None if self.lane is None else list(self.lane),
            "array": self.array,
            "index": None if self.index is None else list(self.index),
            "related": [
                {"message": word, "file": place.file, "line": place.line, "column": place.column or None}
                for word, place in self.related
            ],
            "count": self.count,
            "details": dict(self.details),
        }

    @property
    def fingerprint(self) -> str:
        """The same for the same mistake though lines have moved: of id, array, function and the text of the line."""
        at = self.location
        parts = [self.id, self.array or ""]
        if at is not None:
            parts += [os.path.basename(at.file), at.function, linecache.getline(at.file, at.line).strip()]
        else:
            parts.append(self.message)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def is_suppressed(finding: Finding) -> bool:
    """Whether a comment on its line, or on that of a caller, says so: `# cutile-sim: ignore[CTS101, CTS102]`, or
    without brackets for whatever is found there.
    """
    for at in finding.location.chain() if finding.location is not None else ():
        for names in _IGNORE.findall(linecache.getline(at.file, at.line)):
            if not names or finding.id in {name.strip() for name in names.split(",")}:
                return True
    return False


def without_suppressed(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings that no comment suppresses."""
    return tuple(f for f in findings if not is_suppressed(f))


def write_baseline(path: str | os.PathLike[str], findings: Iterable[Finding]) -> None:
    """Write a baseline file: findings that are known and not to be reported again. Raises UsageError."""
    known = {f.fingerprint: {"id": f.id, "message": f.message} for f in findings}
    content = {"version": BASELINE_VERSION, "findings": dict(sorted(known.items()))}
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
            file.write("\n")
    except OSError as error:
        raise UsageError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from None


def read_baseline(path: str | os.PathLike[str]) -> frozenset[str]:
    """The fingerprints in a baseline file. Raises UsageError where it is none."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content["version"] != BASELINE_VERSION:
            raise UsageError(f"{os.fspath(path)} is a baseline of version {content['version']}: write it again")
        return frozenset(content["findings"])
    except OSError as error:
        raise UsageError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{os.fspath(path)} is not a baseline: write one with --write-baseline") from None


def sarif(findings: Iterable[Finding], version: str) -> dict[str, Any]:
    """The findings as a SARIF 2.1.0 log, as code hosts read it. `version` is that of this package."""
    found = tuple(findings)
    rules = sorted({f.id for f in found})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "cutile-sim", "version": version, "rules": [{"id": r} for r in rules]}},
                "results": [_sarif_result(f, rules.index(f.id)) for f in found],
            }
        ],
    }


def _sarif_result(finding: Finding, rule_index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": rule_index,
        "level": finding.severity,
        "message": {"text": finding.message},
        "partialFingerprints": {"cutileSim/v1": finding.fingerprint},
        "properties": {k: v for k, v in finding.to_json().items() if k in _PROPERTIES},
    }
    if finding.location is not None:
        result["locations"] = [_sarif_location(finding.location, "")]
    if finding.related:
        result["relatedLocations"] = [_sarif_location(place, word) for word, place in finding.related]
    return result


def _sarif_location(location: Location, word: str) -> dict[str, Any]:
    region = {"startLine": location.line}
    if location.column:
        region["startColumn"] = location.column
    place: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": _uri(location.file)}, "region": region}}
    if word:
        place["message"] = {"text": word}
    return place


def _uri(file: str) -> str:
    """A path for SARIF: relative to the working directory where it lies below it, with forward slashes."""
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return (file if relative.startswith("..") else relative).replace(os.sep, "/")
