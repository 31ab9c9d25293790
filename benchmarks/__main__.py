"""Times the simulator against NumPy on whole arrays.

    python -m benchmarks [--json FILE] [--only WORD] [--rounds N] [--small] [--workers N] [--traces] [--sanitize]
                         [--blas-threads N]

Prints, for each kernel, milliseconds of processor time of NumPy and of the simulator and their ratio, all measured in
this one run and each result checked; with --workers, how many times as fast several threads are; then what a launch
costs, measured between the kernels, what the import costs, and how the cost grows with the grid. How it measures is in
`timing.py`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

TARGET_MEAN, TARGET_MOST, TARGET_LAUNCH_MS, TARGET_IMPORT_S = 2.0, 4.0, 0.15, 0.1
TARGET_SANITIZED = 5.0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time the simulator against NumPy.")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--only", default="", help="only kernels with this in their name, and nothing else")
    parser.add_argument("--rounds", type=int, default=15, help="how often to measure each (default 15)")
    parser.add_argument("--small", action="store_true", help="small problems: checks results, times mean nothing")
    parser.add_argument("--workers", type=int, default=0, help="also measure launches on this many threads")
    parser.add_argument("--traces", action="store_true", help="also measure what recording costs")
    parser.add_argument("--sanitize", action="store_true", help="also measure what the sanitizer costs")
    parser.add_argument("--blas-threads", type=int, default=1, help="threads of NumPy's BLAS (default 1)")
    return parser.parse_args()


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def measure_kernels(args: argparse.Namespace) -> dict[str, Any]:
    """Time all kernels, and print them."""
    from benchmarks import basic, library
    from benchmarks.costs import Launches
    from benchmarks.timing import measure, speedup

    figures: dict[str, Any] = {}
    launches = Launches()
    print(
        f"{'kernel':28} {'NumPy ms':>9} {'here ms':>9} {'ratio':>6} {'median':>7}"
        + "  faster at best" * (args.workers > 1)
    )
    for title, problems in (("basic", basic.PROBLEMS), ("library", library.PROBLEMS)):
        rows = []
        for name, (full, small) in problems.items():
            if args.only not in name:
                continue
            problem = (small if args.small else full)()
            timing = measure(name, problem, args.rounds)
            row = asdict(timing)
            line = f"{name:28} {timing.numpy_ms:9.2f} {timing.simulated_ms:9.2f}"
            line += f" {timing.ratio:6.2f} {timing.median_ratio:7.2f}"
            if args.workers > 1:
                shared = speedup(problem, args.workers, args.rounds)
                row["speedup"] = asdict(shared)
                line += f" {shared.wall:7.2f} {shared.at_best:7.2f}"
            print(line, flush=True)
            rows.append(row)
            launches.measure(10 * args.rounds)
        if rows:
            figures[title] = {"kernels": rows, "mean_ratio": mean([row["ratio"] for row in rows])}
            print(f"{'geometric mean':28} {'':9} {'':9} {figures[title]['mean_ratio']:6.2f}\n")
    print(f"launch of one block: {launches.best_ms:.3f} ms")
    return figures | {"launch_ms": launches.best_ms}


def measure_costs(args: argparse.Namespace) -> dict[str, Any]:
    """Time imports and larger and larger grids, and print that."""
    from benchmarks.costs import BLOCKS, import_s, scaling

    few = 1 if args.small else 3
    added, ready = import_s(few), import_s(few, "from cutile_sim import simulate")
    print(f"import adds {added:.3f} s, to first use {ready:.3f} s")
    grown = scaling(few, BLOCKS[0] if args.small else BLOCKS[-1])
    for item in grown:
        print(f"{item.blocks:>9,} blocks: {item.ns_a_block:7.1f} ns a block, {item.extra_bytes / 2**20:6.1f} MiB more")
    return {"import_s": added, "first_use_s": ready, "scaling": [asdict(item) for item in grown]}


def measure_traces(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Time traced runs of the basic kernels against plain ones, and print them."""
    from benchmarks import basic
    from benchmarks.traces import measure_trace

    rows = []
    print(f"{'recording':28} {'plain ms':>9} {'traced ms':>9} {'ratio':>6} {'file bytes':>12}")
    for name, (full, small) in basic.PROBLEMS.items():
        if args.only in name:
            cost = measure_trace(name, (small if args.small else full)(), args.rounds)
            print(f"{name:28} {cost.plain_ms:9.2f} {cost.traced_ms:9.2f} {cost.ratio:6.2f} {cost.file_bytes:12,}")
            rows.append(asdict(cost))
    return rows


def measure_sanitized(args: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Time sanitized runs of all kernels against plain ones, and print them."""
    from benchmarks import basic, library
    from benchmarks.sanitizing import measure_sanitizer

    figures: dict[str, list[dict[str, Any]]] = {}
    print(f"{'sanitizer':28} {'plain ms':>9} {'with ms':>9} {'ratio':>6}")
    for title, problems in (("basic", basic.PROBLEMS), ("library", library.PROBLEMS)):
        figures[title] = []
        for name, (full, small) in problems.items():
            if args.only in name:
                cost = measure_sanitizer(name, (small if args.small else full)(), args.rounds)
                print(f"{name:28} {cost.plain_ms:9.2f} {cost.sanitized_ms:9.2f} {cost.ratio:6.2f}", flush=True)
                figures[title].append(asdict(cost))
    return figures


def judge(figures: dict[str, Any]) -> list[str]:
    """The targets of this project that the figures miss."""
    basic = figures["basic"]
    missed = []
    if basic["mean_ratio"] > TARGET_MEAN:
        missed.append(f"geometric mean {basic['mean_ratio']:.2f} is over {TARGET_MEAN}")
    missed += [
        f"{r['name']}: {r['ratio']:.2f} is over {TARGET_MOST}" for r in basic["kernels"] if r["ratio"] > TARGET_MOST
    ]
    if figures["launch_ms"] > TARGET_LAUNCH_MS:
        missed.append(f"a launch takes {figures['launch_ms']:.3f} ms, over {TARGET_LAUNCH_MS}")
    missed += [
        f"sanitized {r['name']}: {r['ratio']:.2f} is over {TARGET_SANITIZED}"
        for r in figures.get("sanitizer", {}).get("basic", ())
        if r["ratio"] > TARGET_SANITIZED
    ]
    if figures["import_s"] > TARGET_IMPORT_S:
        missed.append(f"the import adds {figures['import_s']:.3f} s, over {TARGET_IMPORT_S}")
    return missed


def main() -> int:
    """Measure, print, and write. The exit code is 0 whether or not the targets are met: noise is no error."""
    args = parse()
    for library in ("OPENBLAS", "MKL", "OMP"):
        # BLAS reads this when NumPy is first imported, which is why nothing above imports it.
        os.environ[f"{library}_NUM_THREADS"] = str(args.blas_threads)
    if args.small:
        args.rounds = 1
    figures = measure_kernels(args)
    if args.traces:
        figures["traces"] = measure_traces(args)
    if args.sanitize:
        figures["sanitizer"] = measure_sanitized(args)
    if not args.only:
        figures |= measure_costs(args)
        if not args.small:
            missed = judge(figures)
            print("targets: " + ("; ".join(missed) if missed else "all met"))
    import numpy

    figures["machine"] = {
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "blas_threads": args.blas_threads,
    }
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
