"""Trace files: several launches in one, on several threads; what is damaged; machines without cuda-tile."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from traced_kernels import pick  # noqa: E402

from cutile_sim import simulate  # noqa: E402
from cutile_sim.errors import UsageError  # noqa: E402
from cutile_sim.traces import load_trace, trace, tracing  # noqa: E402
from cutile_sim.traces.active import tracing_everywhere  # noqa: E402
from cutile_sim.traces.format import MANIFEST, RECORDS, launch_member, member  # noqa: E402
from cutile_sim.traces.options import TraceOptions  # noqa: E402


@ct.kernel
def double(x, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), (TILE,)) * 2)


def blocks_of(launch: Any) -> int:
    return sum(r.group.size for r in launch.records(kinds=("store",)))


def test_launches_of_a_block_each_have_their_own_records(tmp_path: Path) -> None:
    path = tmp_path / "x.ctrace"
    x = np.ones(64, np.float32)
    with tracing(path, contents=True):
        simulate(double, 4, x, 16)
        simulate(double, 8, x, 8)
    simulate(double, 4, x, 16)  # outside: not recorded
    with load_trace(path) as found:
        assert [launch.grid[0] for launch in found.launches] == [4, 8]
        assert [blocks_of(launch) for launch in found.launches] == [4, 8]
        assert [launch.contents("x")[0] for launch in found.launches] == [2, 4]
        for launch in found.launches:
            assert launch.has_contents("x") and launch.has_contents("x", "before")
            assert [launch.ops[n].kind for n in launch.record_ops] == [r.kind for r in launch.records()]
            assert sum(len(chunk.records) for chunk in launch.chunks()) == len(launch.record_ops)


def test_a_decorated_function(tmp_path: Path) -> None:
    path = tmp_path / "x.ctrace"

    @tracing(path)
    def work(n: int) -> None:
        simulate(double, n, np.ones(64, np.float32), 8)

    for n in (2, 3):
        work(n)
        with load_trace(path) as found:
            assert [launch.grid[0] for launch in found.launches] == [n]


def test_threads_do_not_mix(tmp_path: Path) -> None:
    def work(n: int) -> None:
        with tracing(tmp_path / f"{n}.ctrace"):
            for _ in range(5):
                simulate(double, n, np.ones(64, np.float32), 8)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(1, 5):
        with load_trace(tmp_path / f"{n}.ctrace") as found:
            assert [blocks_of(launch) for launch in found.launches] == [n] * 5


def test_one_file_for_all_threads(tmp_path: Path) -> None:
    path = tmp_path / "x.ctrace"
    sizes = [1, 2, 3, 4] * 4
    with tracing_everywhere(path, TraceOptions(values=True)):
        threads = [threading.Thread(target=simulate, args=(double, n, np.full(64, n, np.float32), 8)) for n in sizes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with load_trace(path) as found:
        assert sorted(launch.grid[0] for launch in found.launches) == sorted(sizes)
        for launch in found.launches:
            (load,) = launch.records(kinds=("load",))
            assert (load.value((0, 0, 0)) == launch.grid[0]).all()
            assert blocks_of(launch) == launch.grid[0]


def test_a_file_without_launches_is_removed(tmp_path: Path) -> None:
    with tracing_everywhere(tmp_path / "x.ctrace", TraceOptions()):
        pass
    assert not list(tmp_path.iterdir())


def test_a_million_blocks_are_few_records() -> None:
    n = 1 << 20
    launch = trace(double, n, np.ones(n, np.float32), 1).launches[0]
    assert blocks_of(launch) == n
    assert sum(1 for _ in launch.records()) < n // 100


def test_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutile_sim.traces.writer.CHUNK_RECORDS", 3)
    x = np.arange(256, dtype=np.float32)
    launch = trace(double, 16, x, 16, batch_blocks=2, values=True).launches[0]
    assert launch.chunk_count > 3
    records = list(launch.records(kinds=("load",)))
    assert [r.number for r in records] == sorted(r.number for r in records)
    got = {tuple(b): r.value(tuple(b)).tolist() for r in records for b in r.group.blocks.tolist()}
    assert got == {(i, 0, 0): [float(v) for v in range(16 * i, 16 * i + 16)] for i in range(16)}


@pytest.fixture(scope="module")
def whole() -> bytes:
    file = BytesIO()
    index = np.random.default_rng(1).integers(-3, 20, 64).astype(np.int32)
    with tracing(file, values=True, contents=True):
        simulate(pick, 4, np.arange(20, dtype=np.float32), index, np.zeros(64, np.float32), 16)
    return file.getvalue()


def walk(data: bytes) -> None:
    """Read everything there is in a trace."""
    with load_trace(BytesIO(data)) as found:
        for launch in found.launches:
            repr(launch), launch.counts, launch.sources, launch.findings, launch.printed, launch.error
            for array in launch.arrays:
                launch.contents(array.name)
            for record in launch.records():
                repr(record), record.tiles, list(record.boxes())


def test_the_whole_one_is_fine(whole: bytes) -> None:
    walk(whole)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_an_error_and_nothing_else(whole: bytes, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(whole)) | st.just(len(whole)))
    try:
        walk(bytes(damaged[:end]))
    except UsageError as error:
        assert "\n" not in str(error).strip()


def rewritten(whole: bytes, name: str, content: bytes) -> bytes:
    """The file with another member in place of one, checksums and all."""
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(whole)) as old, zipfile.ZipFile(out, "w") as new:
        for item in old.namelist():
            new.writestr(item, content if item == name else old.read(item))
    return out.getvalue()


@pytest.mark.parametrize("value", [None, [], "x", -1, 1e300, {"a": 1}, [[[]]], [None]])
def test_lies_in_the_json_are_errors(whole: bytes, value: Any) -> None:
    with zipfile.ZipFile(BytesIO(whole)) as archive:
        facts = json.loads(archive.read(launch_member(0)))
    for key in ("grid", "arrays", "ops", "files", "counts", "elements"):
        bad = rewritten(whole, launch_member(0), json.dumps({**facts, key: value}).encode())
        with pytest.raises(UsageError, match="damaged"):
            walk(bad)
    with pytest.raises(UsageError, match="damaged"):
        walk(rewritten(whole, launch_member(0), json.dumps(value).encode()))


def test_lies_in_the_tables_are_errors(whole: bytes) -> None:
    with zipfile.ZipFile(BytesIO(whole)) as archive:
        table = np.load(BytesIO(archive.read(member(0, 0, "records"))))
    for column in RECORDS.names or ():
        if column.endswith("_ns"):
            continue
        for lie in (-7, 2**31 - 1):
            changed = table.copy()
            changed[column] = lie
            file = BytesIO()
            np.save(file, changed)
            with pytest.raises(UsageError, match="damaged"):
                walk(rewritten(whole, member(0, 0, "records"), file.getvalue()))


def test_a_pickle_is_not_opened(whole: bytes) -> None:
    file = BytesIO()
    np.save(file, np.array([print], object), allow_pickle=True)
    with pytest.raises(UsageError, match="damaged"):
        walk(rewritten(whole, member(0, 0, "records"), file.getvalue()))


def test_other_files(tmp_path: Path, whole: bytes) -> None:
    text = tmp_path / "x.ctrace"
    text.write_text("hello")
    with pytest.raises(UsageError, match="is no trace"):
        load_trace(text)
    with pytest.raises(UsageError, match="cannot read"):
        load_trace(tmp_path / "none.ctrace")
    with pytest.raises(UsageError, match="cannot read"):
        load_trace(tmp_path)
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(UsageError, match=r"x\.ctrace is damaged"):
        load_trace(text)
    for manifest, words in (({"format": "other"}, "is no trace of cutile_sim"), ([], "is no trace of cutile_sim")):
        with pytest.raises(UsageError, match=words):
            load_trace(BytesIO(rewritten(whole, MANIFEST, json.dumps(manifest).encode())))
    newer = {"format": "cutile_sim trace", "version": 99}
    with pytest.raises(UsageError, match="of version 99 of the format"):
        load_trace(BytesIO(rewritten(whole, MANIFEST, json.dumps(newer).encode())))


def test_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no option 'value' of a trace"):
        tracing(tmp_path / "x", value=True).__enter__()
    with pytest.raises(UsageError, match="every must be a whole number"):
        tracing(tmp_path / "x", every=0).__enter__()
    with pytest.raises(UsageError, match="no kind of operation 'loads'"):
        tracing(tmp_path / "x", kinds=("loads",)).__enter__()
    x = np.ones(16, np.float32)
    with pytest.raises(UsageError, match="there is no array 'z'"):
        trace(double, 1, x, 16, names=("z",))
    launch = trace(double, 1, x, 16).launches[0]
    with pytest.raises(UsageError, match="no kind of operation 'loads'"):
        list(launch.records(kinds=("loads",)))
    with pytest.raises(UsageError, match="there is no array 'z'"):
        list(launch.records(names=("z",)))
    with pytest.raises(UsageError, match="before and after the launch, not 'during'"):
        launch.contents("x", "during")


def test_it_opens_without_cuda_tile(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "x.ctrace"
    path.write_bytes(whole)
    code = (
        "import sys; sys.modules['cuda'] = sys.modules['cuda.tile'] = None\n"
        "from cutile_sim import load_trace\n"
        f"launch = load_trace({str(path)!r}).launches[0]\n"
        "print(launch.kernel, sum(len(r.accesses) for r in launch.records()), launch.contents('y').sum())\n"
        "assert not any(m.startswith(('cutile_sim.frontend', 'cutile_sim.ops')) for m in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pick 3 ")
