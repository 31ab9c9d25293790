"""Writes traces as a timeline in Chrome's trace event format, which Perfetto and chrome://tracing open.

A launch is a process. The blocks that ran in step are a slice, and what they ran are slices within it. Groups of blocks
share rows: as many as there are groups at once, where blocks have parted or wait for each other.
"""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import PurePath
from typing import Any
from weakref import WeakKeyDictionary

from cutile_sim.traces.export import SourceText, chosen_launches, whole_file
from cutile_sim.traces.extent import box_of, bytes_of, text_of_blocks, text_of_box
from cutile_sim.traces.model import OpInfo
from cutile_sim.traces.reader import LaunchTrace, Trace
from cutile_sim.traces.record import GroupInfo, Record

MOST_RECORDS = 250_000
"""Beyond that a file is too large for the page that shows it."""
_GAP_NS = 1000
"""Between two launches."""
_LAUNCH_ROW = 0
"""The row of a launch as a whole; those of its blocks follow."""


def write_perfetto(trace: Trace, path: str | os.PathLike[str], *, launches: Sequence[int] = ()) -> tuple[str, ...]:
    """Write a trace as a timeline for https://ui.perfetto.dev or chrome://tracing.

    Launches follow each other, whenever they ran. Times are those of the simulator: they say nothing of a GPU.

    Args:
        trace: Any trace.
        path: The file to write, usually `NAME.json`.
        launches: Numbers of the launches to write; empty for all.

    Returns:
        What the user should know of what was left out, a sentence each.

    Raises:
        UsageError: There is no such launch, the trace is damaged, or the file cannot be written.
    """
    chosen = chosen_launches(trace, launches)
    notes: list[str] = []
    left, begin_ns, number = MOST_RECORDS, 0, 1
    flows = count(1)
    with whole_file(path) as stream:
        stream.write(b'{"displayTimeUnit": "ns", "traceEvents": [')
        separator = b"\n"
        for launch in chosen:
            timeline = _Timeline(launch, begin_ns, left, number, flows)
            for event in timeline.events():
                stream.write(separator + json.dumps(event).encode())
                separator = b",\n"
            left -= timeline.shown
            number += 1 + timeline.rows
            begin_ns = timeline.end_ns + _GAP_NS
            if timeline.shown < timeline.total:
                notes.append(
                    f"launch {launch.number} ({launch.kernel}): the first {timeline.shown:,} of {timeline.total:,}"
                    " records were written; record fewer, such as with --block 0:4,0:4 or --every 16"
                )
        facts = {"producer": trace.producer, "notes": notes}
        stream.write(b'\n], "otherData": ' + json.dumps(facts).encode() + b"}\n")
    return tuple(notes)


@dataclass
class _Span:
    """When the same blocks ran in step, from the first operation to the last, and the row that shows it."""

    blocks: str
    count: int
    start_ns: int
    end_ns: int
    row: int = 0
    is_open: bool = False


class _Timeline:
    """One launch that begins at `begin_ns`, with up to `most` records.

    It is the process `number`, and its rows are threads that count on from there: Perfetto wants them to be unlike
    those of other processes, and not 0.

    Attributes:
        rows: How many rows its blocks take.
        shown, total: Records that are shown, and that there are.
        end_ns: When the launch ends.
    """

    def __init__(self, launch: LaunchTrace, begin_ns: int, most: int, number: int, flows: Iterator[int]) -> None:
        self.launch, self.begin_ns = launch, begin_ns
        self._flows = flows
        self._places = _places(launch)
        self._number = number
        self._keys: WeakKeyDictionary[GroupInfo, bytes] = WeakKeyDictionary()
        self._spans: dict[bytes, _Span] = {}
        self.total = len(launch.record_ops)
        self.shown = min(self.total, most)
        last_ns = 0
        for record in self._records():
            last_ns = record.start_ns + record.took_ns
            self._extend_span(record, last_ns)
        with launch.trace.damage():
            seconds = float(launch.facts["seconds"])
        self.end_ns = begin_ns + max(round(seconds * 1e9), last_ns)
        self.rows = _assign_rows(list(self._spans.values()))
        self._fed = _products_of_loads(launch.ops, set(launch.record_ops[: self.shown].tolist()))
        self._waiting: dict[tuple[bytes, int], list[int]] = {}

    def events(self) -> Iterator[dict[str, Any]]:
        """All events, metadata first, then in the order of time."""
        x, y, z = self.launch.grid
        yield self._named("process_name", _LAUNCH_ROW, name=f"{self.launch.kernel} ({x}, {y}, {z})")
        yield self._named("process_sort_index", _LAUNCH_ROW, sort_index=self.launch.number)
        yield self._named("thread_name", _LAUNCH_ROW, name="launch")
        yield self._named("thread_sort_index", _LAUNCH_ROW, sort_index=_LAUNCH_ROW)
        for row in range(1, self.rows + 1):
            yield self._named("thread_name", row, name="blocks in step")
            yield self._named("thread_sort_index", row, sort_index=row)
        length_ns = self.end_ns - self.begin_ns
        yield self._slice(self.launch.kernel, "launch", _LAUNCH_ROW, 0, length_ns, self._launch_facts())
        for record in self._records():
            yield from self._of_record(record)
        error = self.launch.error
        if error is not None:
            at = self._event("i", str(error.get("type")), _LAUNCH_ROW, length_ns)
            yield at | {"s": "p", "args": {k: v for k, v in error.items() if k != "type"}}

    def _records(self) -> Iterator[Record]:
        return self.launch.records(between=(0, self.shown))

    def _launch_facts(self) -> dict[str, Any]:
        return {
            "blocks": self.launch.block_count,
            "records": self.total,
            "bytes loaded": int(self.launch.counts["bytes_loaded"].sum()),
            "bytes stored": int(self.launch.counts["bytes_stored"].sum()),
            "findings": len(self.launch.findings),
        }

    def _of_record(self, record: Record) -> Iterator[dict[str, Any]]:
        key = self._key(record.group)
        span = self._spans[key]
        if not span.is_open:
            span.is_open = True
            facts = {"blocks": span.blocks, "count": span.count}
            yield self._slice(span.blocks, "blocks", span.row, span.start_ns, span.end_ns - span.start_ns, facts)
        facts = self._facts(record, span)
        name = f"{record.kind} {facts['array']}" if "array" in facts else record.op.name
        yield self._slice(name, record.kind, span.row, record.start_ns, record.took_ns, facts)
        for product in self._fed.get(record.op.number, ()):
            flow = next(self._flows)
            self._waiting.setdefault((key, product), []).append(flow)
            yield self._event("s", "tile", span.row, record.start_ns) | {"cat": "flow", "id": flow}
        for flow in self._waiting.pop((key, record.op.number), ()):
            yield self._event("f", "tile", span.row, record.start_ns) | {"cat": "flow", "id": flow, "bp": "e"}

    def _facts(self, record: Record, span: _Span) -> dict[str, Any]:
        op = record.op
        facts = {"operation": op.name, "blocks": span.blocks, "count": span.count, **self._places[op.number]}
        if record.accesses:
            boxes = [(a, box_of(a)) for a in record.accesses]
            arrays = dict.fromkeys(a.array.name for a in record.accesses)
            facts["array"] = ", ".join(arrays)
            facts["box"] = ", ".join(
                f"{name}{text_of_box([box for a, box in boxes if a.array.name == name])}" for name in arrays
            )
            facts["bytes"] = sum(bytes_of(a, op) for a in record.accesses)
        if op.flops:
            facts["flops"] = op.flops * span.count
        return facts

    def _key(self, group: GroupInfo) -> bytes:
        """What tells groups of other blocks apart, in whichever chunk they are described."""
        found = self._keys.get(group)
        if found is None:
            found = self._keys[group] = sha256(group.blocks.tobytes()).digest()
        return found

    def _extend_span(self, record: Record, end_ns: int) -> None:
        group = record.group
        key = self._key(group)
        span = self._spans.get(key)
        if span is None:
            self._spans[key] = _Span(text_of_blocks(group.blocks), group.size, record.start_ns, end_ns)
        else:
            span.end_ns = end_ns

    def _named(self, what: str, row: int, **facts: Any) -> dict[str, Any]:
        return {"ph": "M", "name": what, "pid": self._number, "tid": self._number + row, "args": facts}

    def _event(self, phase: str, name: str, row: int, at_ns: int) -> dict[str, Any]:
        return {
            "ph": phase,
            "name": name,
            "pid": self._number,
            "tid": self._number + row,
            "ts": (self.begin_ns + at_ns) / 1000,
        }

    def _slice(
        self, name: str, category: str, row: int, at_ns: int, took_ns: int, facts: dict[str, Any]
    ) -> dict[str, Any]:
        return self._event("X", name, row, at_ns) | {"dur": took_ns / 1000, "cat": category, "args": facts}


def _places(launch: LaunchTrace) -> list[dict[str, Any]]:
    """Of each operation, where it is in the user's source."""
    text = SourceText(launch)
    return [
        {}
        if op.location is None
        else {"line": f"{PurePath(op.location.file).name}:{op.location.line}", "source": text.line(op.location).strip()}
        for op in launch.ops
    ]


def _assign_rows(spans: list[_Span]) -> int:
    """Give each span the first row, from 1 on, that is free while it lasts; returns how many there are."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    rows = 0
    for span in sorted(spans, key=lambda s: s.start_ns):
        while busy and busy[0][0] <= span.start_ns:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            span.row = heapq.heappop(free)
        else:
            rows = span.row = rows + 1
        heapq.heappush(busy, (span.end_ns, span.row))
    return rows


def _products_of_loads(ops: Sequence[OpInfo], shown: set[int]) -> dict[int, list[int]]:
    """For each load, the products that take its tile, as it is or converted, in the same run of operations."""
    makers = {number: op for op in ops for number, _ in op.results}
    found: dict[int, list[int]] = {}
    for product in ops:
        if product.kind != "product" or product.number not in shown:
            continue
        values, seen = [n for name in ("lhs", "rhs") for n in product.operands.get(name, ())], set()
        while values:
            maker = makers.get(values.pop())
            if (
                maker is None
                or maker.number in seen
                or (maker.parent, maker.region) != (product.parent, product.region)
            ):
                continue
            seen.add(maker.number)
            if maker.kind == "load":
                found.setdefault(maker.number, []).append(product.number)
            elif maker.kind == "compute":
                values += [n for operand in maker.operands.values() for n in operand]
    return found
