"""What each source line of a kernel did in a launch."""

from __future__ import annotations

from dataclasses import dataclass

from cutile_sim.traces.reader import LaunchTrace


@dataclass(frozen=True)
class Line:
    """What one source line did, summed over all blocks of the launch whatever was recorded.

    Attributes:
        file, line: The innermost place of the user's own; "" and 0 for operations without a place.
        ops: Numbers of its operations.
        executions: How often blocks ran it: the count of that of its operations which ran most often.
        operations: Operations executed.
        bytes_loaded, bytes_stored: Moved from and to global memory.
        flops: Floating-point operations, as `OpInfo.flops` counts them.
        took_ns: Time in the simulator, which says nothing of a GPU.
        share: Its part of the time of all lines, 0 to 1.
    """

    file: str
    line: int
    ops: tuple[int, ...]
    executions: int
    operations: int
    bytes_loaded: int
    bytes_stored: int
    flops: int
    took_ns: int
    share: float


def lines(launch: LaunchTrace) -> tuple[Line, ...]:
    """What each source line did, ordered by file, in the order in which files first occur, and line.

    What cuTile's own library does on behalf of a line counts there. Raises UsageError for a damaged file.
    """
    at: dict[tuple[str, int], list[int]] = {}
    for op in launch.ops:
        where = op.location
        at.setdefault(("", 0) if where is None else (where.file, where.line), []).append(op.number)
    files = list(dict.fromkeys(file for file, _ in at))
    counts = launch.counts
    whole_ns = int(counts["took_ns"].sum())
    found = []
    for (file, line), ops in sorted(at.items(), key=lambda item: (files.index(item[0][0]), item[0][1])):
        sums = {name: int(column[ops].sum()) for name, column in counts.items()}
        found.append(
            Line(
                file=file,
                line=line,
                ops=tuple(ops),
                executions=int(counts["blocks"][ops].max()),
                operations=sums["blocks"],
                bytes_loaded=sums["bytes_loaded"],
                bytes_stored=sums["bytes_stored"],
                flops=sum(launch.ops[n].flops * int(counts["blocks"][n]) for n in ops),
                took_ns=sums["took_ns"],
                share=sums["took_ns"] / whole_ns if whole_ns else 0.0,
            )
        )
    return tuple(found)
