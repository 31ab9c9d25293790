"""Writes traces in the format of TileLens, whose page shows what each block loads, stores and multiplies."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from cutile_sim.errors import UsageError
from cutile_sim.source import is_library
from cutile_sim.traces.export import SourceText, chosen_launches, whole_file
from cutile_sim.traces.model import ArrayInfo, OpInfo
from cutile_sim.traces.reader import LaunchTrace, Trace
from cutile_sim.traces.record import Access, Record, of_block
from cutile_sim.traces.tvz_arrays import PlacedArray, finite, matrices, placed_arrays, put_lanes
from cutile_sim.traces.tvz_file import TvzFile, dict_of, instance, tuple_of

MOST_LANES = 1 << 22
"""TileLens reads a trace whole, and needs a minute and a gigabyte for so many."""
LANES_A_RECORD = 256
"""What a record weighs at least."""
_REDUCES = {
    "addf": "ReduceSum", "addi": "ReduceSum", "maxf": "ReduceMax", "maxi": "ReduceMax", "minf": "ReduceMin",
    "mini": "ReduceMin", "xori": "ReduceXor", "ori": "ReduceOr",
}  # fmt: skip


def write_tvz(trace: Trace, path: str | os.PathLike[str], *, launches: Sequence[int] = ()) -> tuple[str, ...]:
    """Write a trace for TileLens: `tilelens.load(path)`, `tile-visualizer path`.

    Args:
        trace: Recorded with `contents=True`, and, where matrix products were recorded, `values=True`.
        path: The file to write, usually `NAME.tvz`.
        launches: Numbers of the launches to write; empty for all.

    Returns:
        What the user should know of what was left out, a sentence each.

    Raises:
        UsageError: The trace lacks something or is too large, there is no such launch, or the file cannot be written.
    """
    chosen = chosen_launches(trace, launches)
    for launch in chosen:
        _expect_contents(launch)
    with whole_file(path) as stream, TvzFile(stream) as file:
        written = [_Launch(launch, file) for launch in chosen]
        file.finish([(launch.fields, launch.records()) for launch in written])
    notes = [f"TileLens shows the last of {len(chosen)} launches"] if len(chosen) > 1 else []
    for each in written:
        notes += [f"accesses to {name} were left out: it is no argument" for name in sorted(each.left_out)]
        notes += [
            f"{what}: {count:,} numbers that are not finite, which TileLens's page cannot read, were written as 0"
            for what, count in sorted(each.not_finite.items())
        ]
    return tuple(notes)


def _expect_contents(launch: LaunchTrace) -> None:
    missing = []
    if not all(launch.has_contents(array.name) for array in launch.arrays if array.is_argument):
        missing.append("contents=True (--contents)")
    if any(not record.tiles for record in launch.records(kinds=("product",))):
        missing.append("values=True (--values)")
    if missing:
        raise UsageError(
            f"launch {launch.number} ({launch.kernel}) of {launch.trace.name} lacks what TileLens shows: "
            f"record it with {' and '.join(missing)}"
        )


class _Launch:
    """One launch, in TileLens's terms.

    Attributes:
        fields: The fields of its `Launch` without the records.
        left_out: Names of memory whose accesses cannot be shown.
        not_finite: How many numbers of what are written as 0.
    """

    def __init__(self, launch: LaunchTrace, file: TvzFile) -> None:
        self.launch, self.file = launch, file
        self.left_out: set[str] = set()
        self.not_finite: Counter[str] = Counter()
        self._arrays = placed_arrays(launch)
        self._types = dict(launch.parameters)
        for op in launch.ops:
            self._types.update(op.results)
            for arguments in op.arguments:
                self._types.update(arguments)
        sources = SourceText(launch)
        self._paths = {op.number: _call_path(op, sources) for op in launch.ops}
        self._blocks: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
        self._shown: Counter[tuple[int, int, int]] = Counter()
        self._counts: Counter[str] = Counter()
        self._bytes: dict[str, list[int]] = {"load": [0, 0], "store": [0, 0]}
        self._lanes = 0
        tensors = [self._tensor(array) for array in self._arrays.values()]
        self.fields = {"grid": tuple_of(launch.grid), "tensors": {"kind": "set", "items": tensors}}
        for record in launch.records():
            for which, (x, y, z) in enumerate(record.group.blocks.tolist()):
                found = self._blocks.setdefault((x, y, z), [])
                found.extend(self._of_block(record, which, (x, y, z)))

    def records(self) -> Iterator[dict[str, Any]]:
        """Each block and what it did, in launch order; last what all did together."""
        for block in sorted(self._blocks, key=lambda b: b[::-1]):
            yield instance("Grid", idx=tuple_of(block))
            yield from self._blocks[block]
        for kind, (used, tried) in self._bytes.items():
            name = "clients.profiler.data:LoadStoreBytes"
            yield instance(name, type=kind, total_bytes_true=used, total_bytes_attempted=tried)
        yield instance("clients.profiler.data:OpTypeCounts", type_counts=dict_of(self._counts))

    def _tensor(self, array: PlacedArray) -> dict[str, Any]:
        contents = self.launch.contents(array.info.name)
        assert contents is not None
        shape = array.info.shape
        return instance(
            "TensorSnapshot",
            ptr=array.address,
            dtype=f"torch.{array.type_name}",
            _stride=tuple_of(prod(shape[axis + 1 :]) for axis in range(len(shape))),
            shape=tuple_of(shape),
            _element_size=array.item_bytes,
            data=self.file.tensor(self._finite(array.values(contents), array.info.name)),
            device="cpu",
            _contiguous=True,
        )

    def _finite(self, values: np.ndarray, what: str) -> np.ndarray:
        values, count = finite(values)
        if count:
            self.not_finite[what] += count
        return values

    def _of_block(self, record: Record, which: int, block: tuple[int, int, int]) -> Iterator[dict[str, Any]]:
        if record.kind in ("load", "store", "atomic"):
            names = {"load": ("Load",), "store": ("Store",), "atomic": ("Load", "Store")}[record.kind]
            for array, accesses in _by_array(record):
                if array.number not in self._arrays:
                    self.left_out.add(array.name)
                elif len(accesses) == len(record.accesses) or any(a.takes_part(which) for a in accesses):
                    for name in names:
                        yield self._move(name, record.op, self._arrays[array.number], accesses, which, block)
        elif record.kind == "product":
            yield from self._products(record, which, block)
        elif record.kind == "reduce":
            yield self._reduce(record.op)

    def _move(
        self,
        name: str,
        op: OpInfo,
        array: PlacedArray,
        accesses: list[Access],
        which: int,
        block: tuple[int, int, int],
    ) -> dict[str, Any]:
        shape = op.tile[0] if op.tile is not None else accesses[0].tile_shape
        offsets, mask = np.zeros(shape, np.int64), np.zeros(shape, bool)
        for access in accesses:
            if access.takes_part(which):
                put_lanes(access, which, array, offsets, mask)
        self._weigh(mask.size)
        moved = int(mask.sum()) * array.info.item_bytes
        tally = self._bytes[name.lower()]
        tally[0], tally[1] = tally[0] + moved, tally[1] + mask.size * array.info.item_bytes
        return self._shown_record(
            name,
            op,
            block,
            ptr=array.address,
            offsets=self.file.array(offsets.reshape(shape or (1,))),
            masks=self.file.array(mask.reshape(shape or (1,))),
            mem_src="HBM" if name == "Load" else "SBUF",
            mem_dst="SBUF" if name == "Load" else "HBM",
            frontend="cutile",
            bytes=moved,
            time_idx=self._shown[block],
        )

    def _products(self, record: Record, which: int, block: tuple[int, int, int]) -> Iterator[dict[str, Any]]:
        left, right = (
            of_block(next(t.values for t in record.tiles if t.operand == n), which, record.group) for n in (0, 1)
        )
        for a, b in zip(matrices(left), matrices(right), strict=True):
            self._weigh(a.size + b.size)
            a, b = (self._finite(matrix, "operands of products") for matrix in (a, b))
            yield self._shown_record(
                "Dot",
                record.op,
                block,
                input_shape=tuple_of(a.shape),
                other_shape=tuple_of(b.shape),
                output_shape=tuple_of((a.shape[0], b.shape[1])),
                input_data=self.file.array(a),
                other_data=self.file.array(b),
                intermediate_results=dict_of({}),
            )

    def _reduce(self, op: OpInfo) -> dict[str, Any]:
        body = [o.name for o in self.launch.ops if o.parent == op.number and o.name != "yield"]
        name = _REDUCES.get(body[0], "Reduce") if len(body) == 1 else "Reduce"
        self._weigh(0)
        self._counts["Reduce"] += 1
        taken = next(iter(op.operands.values()))[0]
        return instance(
            name,
            call_path=self._paths[op.number],
            input_shape=_shape(self._types[taken]),
            index=op.axis,
            keep_dims=False,
            output_shape=_shape(op.results[0][1]),
        )

    def _shown_record(self, name: str, op: OpInfo, block: tuple[int, int, int], **fields: Any) -> dict[str, Any]:
        self._counts[name] += 1
        self._shown[block] += 1
        return instance(name, call_path=self._paths[op.number], **fields)

    def _weigh(self, lanes: int) -> None:
        self._lanes += max(lanes, LANES_A_RECORD)
        if self._lanes > MOST_LANES:
            raise UsageError(
                f"launch {self.launch.number} ({self.launch.kernel}) touches more than TileLens can show "
                f"({MOST_LANES:,} lanes): record fewer of its {self.launch.block_count:,} blocks, such as "
                "--block 0:4,0:4 or --every 16"
            )


def _by_array(record: Record) -> Iterator[tuple[ArrayInfo, list[Access]]]:
    for array in dict.fromkeys(a.array for a in record.accesses):
        yield array, [a for a in record.accesses if a.array == array]


def _shape(type_text: str) -> dict[str, Any]:
    """The shape of a tile, by its type."""
    return tuple_of(int(n) for n in re.findall(r"(\d+)x", type_text.partition("<")[2]))


def _call_path(op: OpInfo, sources: SourceText) -> list[dict[str, Any]]:
    """Where an operation is in the user's source, outermost first."""
    return [
        instance(
            "utils.traceback_utils:TracebackInfo",
            filename=at.file,
            lineno=at.line,
            func_name=at.function or "<kernel>",
            line_of_code=sources.line(at),
        )
        for at in reversed(op.chain)
        if not is_library(at.file)
    ]
