"""Answers about a trace and a launch as a whole: what there is to look at."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import numpy as np

from cutile_sim.analysis import lines
from cutile_sim.analysis.access_table import access_table
from cutile_sim.page.contents import has_values
from cutile_sim.page.packing import finite, pack
from cutile_sim.page.planes import natural_wrap
from cutile_sim.page.questions import Question
from cutile_sim.traces.model import Location
from cutile_sim.traces.options import DEFAULT_KINDS, KINDS
from cutile_sim.traces.reader import LaunchTrace

PRINTED_CHARACTERS = 1 << 18
"""How much of the printed text is shown."""
MOST_RECORDS = 1 << 22


def trace(question: Question) -> dict[str, Any]:
    """The launches of the file."""
    found = question.trace
    return {
        "name": PurePath(found.name).name,
        "launches": [
            {
                "number": launch.number,
                "kernel": launch.kernel,
                "grid": list(launch.grid),
                "error": launch.error is not None,
            }
            for launch in found.launches
        ],
        "left_out": [],
    }


def launch(question: Question) -> dict[str, Any]:
    """What a launch is: kernel, grid, arrays, source with the cost of each line, operations, findings, printed text."""
    with question.trace.damage():
        return _launch(question.launch)


def _launch(found: LaunchTrace) -> dict[str, Any]:
    paths = file_paths(found)
    names = dict(zip(paths, _short_names(paths), strict=True))
    pairs = touched(found)
    arrays_of: dict[int, list[int]] = {}
    for op, array in sorted(pairs):
        arrays_of.setdefault(op, []).append(array)

    def place(at: Location) -> dict[str, Any]:
        return {"file": paths.index(at.file), "line": at.line, "name": names[at.file], "function": at.function}

    ops = [
        {
            "name": op.name,
            "kind": op.kind,
            "line": None if op.location is None else place(op.location),
            "chain": [place(at) for at in op.chain],
            "arrays": arrays_of.get(op.number, []),
        }
        for op in found.ops
    ]
    return {
        "number": found.number,
        "kernel": found.kernel,
        "grid": list(found.grid),
        "blocks": found.block_count,
        "wrap": natural_wrap(found.block_count),
        "arrays": [
            {
                "number": array.number,
                "name": array.name,
                "dtype": array.dtype_name,
                "shape": list(array.shape),
                "wrap": natural_wrap(array.size) if len(array.shape) == 1 else 1,
                "is_argument": array.is_argument,
                "has_contents": array.is_argument and found.has_contents(array.name),
                "has_values": has_values(found, array),
                "accesses": [
                    {"op": number, "kind": found.ops[number].kind, "records": records, "blocks": blocks}
                    for (number, touched_array), (records, blocks) in sorted(pairs.items())
                    if touched_array == array.number
                ],
            }
            for array in found.arrays
        ],
        "ops": ops,
        "files": [{"path": path, "name": names[path], "text": found.sources.get(path)} for path in paths],
        "lines": [
            {
                "file": paths.index(line.file),
                "line": line.line,
                "blocks": line.executions,
                "bytes": line.bytes_loaded + line.bytes_stored,
                "flops": line.flops,
                "share": line.share,
            }
            for line in lines(found)
            if line.file
        ],
        "seconds": finite(float(found.facts.get("seconds", "nan"))),
        "records": len(found.record_ops),
        "timeline": pack(found.record_ops[:MOST_RECORDS], "i4"),
        "recorded": _recorded(found),
        "has_tiles": bool(found.facts["options"].get("values")),
        "sanitized": bool(found.facts.get("sanitized", found.findings)),
        "findings": [_finding(entry) for entry in found.findings],
        "error": None if found.error is None else _finding(found.error),
        "printed": found.printed[:PRINTED_CHARACTERS],
        "printed_cut": len(found.printed) > PRINTED_CHARACTERS,
    }


def file_paths(found: LaunchTrace) -> list[str]:
    """Paths of the source files, by number."""
    with found.trace.damage():
        return [str(file["path"]) for file in found.facts["files"]]


def _finding(entry: dict[str, Any]) -> dict[str, Any]:
    """What the page shows of a finding, or of the error that stopped the launch."""
    numbers = {name: entry.get(name) for name in ("block", "index")}
    return {
        "id": str(entry.get("id", entry.get("type"))),
        "severity": str(entry.get("severity", "error")),
        "message": str(entry["message"]),
        "file": None if entry.get("file") is None else str(entry["file"]),
        "line": None if entry.get("line") is None else int(entry["line"]),
        "array": None if entry.get("array") is None else str(entry["array"]),
        "count": int(entry.get("count", 1)),
        **{name: None if found is None else [int(i) for i in found] for name, found in numbers.items()},
    }


def _short_names(paths: list[str]) -> list[str]:
    """File names; with as many folders before them as tell them apart."""
    parts = [PurePath(path).parts for path in paths]
    found = []
    for own in parts:
        count = 1
        while count < len(own) and sum(other[-count:] == own[-count:] for other in parts) > 1:
            count += 1
        found.append("/".join(own[-count:]) or "unknown")
    return found


def touched(found: LaunchTrace) -> dict[tuple[int, int], tuple[int, int]]:
    """By operation and array: (records, blocks that ran them, each time counted)."""
    table = access_table(found)
    width = max(len(found.arrays), 1)
    # A record that touches an array in several parts counts once; it has one operation.
    once = np.unique(table.record * width + table.array, return_index=True)[1]
    pairs, of_row = np.unique(table.op[once] * width + table.array[once], return_inverse=True)
    sizes = np.array([pattern.count for pattern in table.patterns], np.int64)
    records, blocks = np.bincount(of_row, minlength=len(pairs)), np.zeros(len(pairs), np.int64)
    if once.size:
        np.add.at(blocks, of_row, sizes[table.pattern[table.group[once]]])
    totals = zip(records.tolist(), blocks.tolist(), strict=True)
    return {divmod(pair, width): total for pair, total in zip(pairs.tolist(), totals, strict=True)}


def _recorded(found: LaunchTrace) -> str:
    """What the trace was limited to, in words; nothing where all was recorded."""
    options = found.facts["options"]
    words = []
    if set(options["kinds"]) != set(DEFAULT_KINDS) and set(options["kinds"]) != set(KINDS):
        words.append(", ".join(map(str, options["kinds"])))
    for name in ("blocks", "lines"):
        if options[name]:
            words.append(f"{name} {', '.join(map(str, options[name]))}")
    if options["names"]:
        words.append(f"arrays {', '.join(map(str, options['names']))}")
    if options["every"] != 1:
        words.append(f"every {options['every']}th block")
    return "; ".join(words)
