"""Runs other people's test suites on the simulator and compares with what passes on a GPU.

    python benchmarks/conformance.py upstream CHECKOUT --expected LIST [--jobs N] [--arch sm_90] [--only WORD]
    python benchmarks/conformance.py tilegym CHECKOUT [--jobs N] [--arch sm_90] [--only WORD]

CHECKOUT is a clone of NVIDIA/cutile-python or NVIDIA/TileGym with its test requirements installed (for the latter also
pytest-timeout; itself it need not be installed); nothing of it is copied or changed. LIST names a test a line, as in
`test.test_cast::test_astype[i32-f16]`: those that pass on a real GPU of that architecture. Without it every test is
expected that does not skip itself. The table counts, for each file: expected, passed, excepted (with the reasons below
it), failed. The exit code is 1 if an expected test fails for no known reason.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

REASONS = {
    r"^test\.test_cudagraph::": "CUDA graphs: nothing to capture on a CPU",
    r"^test\.test_jax::": "JAX's GPU bridge",
    r"^test\.test_export_compat::test_export_compat_(cutile_python_v[12]|static_shape)$": "cubins, run by the driver",
    r"::(test_launch_on_different_devices$|test_ampere_fp8_error\[)": "replaces the private step that makes cubins",
    r"::test_mixed_scalar_tile_atomic\[True\]$": "writes past the end of its array, which is an error here",
}
"""Why a test that passes on a GPU is not expected to pass here: pattern of its name, reason."""


class Suite(NamedTuple):
    """Which files of a checkout hold a suite, as patterns, and with what options and variables pytest runs them.

    `source` is the folder of the checkout that holds the package under test, where it is not to be installed.
    `test_timeout_s` is the time for one test, for which pytest-timeout is needed; 0 for no limit.
    """

    files: tuple[str, ...]
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    source: str = ""
    test_timeout_s: int = 0


SUITES = {
    "upstream": Suite(("test/test_*.py", "samples/test_*.py")),
    # Kernels for cuTile only, and no timing. Tuning would run every configuration to measure what means nothing here.
    "tilegym": Suite(
        ("tests/ops/**/test_*.py", "tests/suites/**/test_*.py"),
        (*("-k", "not test_perf and not triton and not tilecpp and not cutile-rs and not cutile_rs"),),
        (("TILEGYM_DISABLE_AUTOTUNE", "1"),),
        source="src",
        test_timeout_s=120,
    ),
}


class Outcome(NamedTuple):
    """One test: "passed", "failed", "skipped", with the first line of the message."""

    status: str
    message: str


def file_name(checkout: Path, path: Path) -> str:
    """A file of tests as its tests name it: `test.test_cast`."""
    return ".".join(path.relative_to(checkout).with_suffix("").parts)


def run_file(suite: Suite, checkout: Path, path: Path, arch: str, timeout_s: int) -> dict[str, Outcome]:
    """Run one file of tests in a process of its own; outcomes by the name of the test."""
    whole = f"{file_name(checkout, path)}::(file)"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            *(sys.executable, "-m", "pytest", "--cutile-sim", "--cutile-sim-arch", arch),
            *("-q", "-p", "no:cacheprovider", "--junitxml", str(report), "-o", "junit_family=xunit2"),
            *("--rootdir", str(checkout), *suite.options),
            *(("--timeout", str(suite.test_timeout_s)) if suite.test_timeout_s else ()),
            path.name,
        ]
        # Jobs share the processors: threads of BLAS that wait for one another there have slowed products a hundredfold.
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        environment = {**one_thread, **os.environ, **dict(suite.environment)}
        if suite.source:
            places = [str(checkout / suite.source), os.environ.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
        try:
            done = subprocess.run(
                command, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=timeout_s
            )
        except subprocess.TimeoutExpired:
            return {whole: Outcome("failed", f"more than {timeout_s} s")}
        if not report.exists():
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            return {whole: Outcome("failed", "".join(last))}
        return outcomes(report)


def outcomes(report: Path) -> dict[str, Outcome]:
    """Read a JUnit report."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        status, message = "passed", ""
        for child in case:
            if child.tag in ("failure", "error", "skipped"):
                status = "skipped" if child.tag == "skipped" else "failed"
                message = child.get("message", "").split("\n", 1)[0]
        found[f"{case.get('classname')}::{case.get('name')}"] = Outcome(status, message)
    return found


def reason_for(test: str) -> str | None:
    """Why a test is not expected to pass here, or None."""
    return next((reason for pattern, reason in REASONS.items() if re.search(pattern, test)), None)


def file_of(test: str) -> str:
    """The file of tests that a test belongs to: `test.test_cast`."""
    found = re.match(r"(?:\w+\.)*?test_\w+", test)
    return found[0] if found else test


def print_table(expected: set[str], got: dict[str, Outcome], seconds: dict[str, float]) -> int:
    """Print what became of the expected tests; returns how many fail for no known reason."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    unexplained = []
    for test in sorted(expected):
        outcome = got.get(test) or got.get(f"{file_of(test)}::(file)") or Outcome("missing", "not collected")
        row = rows[file_of(test)]
        row["expected"] += 1
        if outcome.status == "passed":
            row["passed"] += 1
        elif reason := reason_for(test):
            row["excepted"] += 1
            reasons[reason] += 1
        else:
            row["failed"] += 1
            unexplained.append((test, outcome))
    columns = ("expected", "passed", "excepted", "failed")
    print(f"{'tests':<44}" + "".join(f"{c:>10}" for c in columns) + f"{'seconds':>10}")
    for name, row in sorted(rows.items()):
        print(f"{name:<44}" + "".join(f"{row[c]:>10}" for c in columns) + f"{seconds.get(name, 0):>10.0f}")
    total: Counter[str] = sum(rows.values(), Counter())
    print(f"{'all':<44}" + "".join(f"{total[c]:>10}" for c in columns) + f"{sum(seconds.values()):>10.0f}")
    for reason, count in reasons.most_common():
        print(f"excepted {count}: {reason}")
    for test, outcome in unexplained:
        print(f"{outcome.status.upper()} {test}: {outcome.message}")
    return len(unexplained)


def main() -> int:
    """Read the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--expected", type=Path, help="file with a test a line that passes on a GPU")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--only", default="", help="only files whose path in the checkout contains this")
    parser.add_argument("--timeout", type=int, default=3600, metavar="SECONDS", help="for one file of tests")
    parser.add_argument("--test-timeout", type=int, metavar="SECONDS", help="for one test; 0 for none")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    suite = SUITES[options.suite]
    if options.test_timeout is not None:
        suite = suite._replace(test_timeout_s=options.test_timeout)
    found = (path for pattern in suite.files for path in checkout.glob(pattern))
    paths = sorted(path for path in found if options.only in path.relative_to(checkout).as_posix())
    seconds: dict[str, float] = {}
    got: dict[str, Outcome] = {}

    def one(path: Path) -> None:
        start = time.perf_counter()
        found = run_file(suite, checkout, path, options.arch, options.timeout)
        seconds[file_name(checkout, path)] = time.perf_counter() - start
        got.update(found)
        counts = Counter(outcome.status for outcome in found.values())
        words = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        failed = [f"\n  {name}: {outcome.message}" for name, outcome in found.items() if outcome.status == "failed"]
        print(f"{path.name}: {words} in {seconds[file_name(checkout, path)]:.0f} s{''.join(failed)}", file=sys.stderr)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, paths))
    if options.expected is None:
        expected = {test for test, outcome in got.items() if outcome.status != "skipped"}
        print(f"{len(got) - len(expected)} tests skip themselves")
    else:
        names = {file_name(checkout, path) for path in paths}
        listed = set(options.expected.read_text(encoding="utf-8").split("\n")) - {""}
        expected = {test for test in listed if file_of(test) in names}
    return 1 if print_table(expected, got, seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
