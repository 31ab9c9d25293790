"""Sessions: where they stop, what they show, how they end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutile_sim import OutOfBoundsError, Session, UsageError, debug, simulate

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

import followed  # noqa: E402

FILE = followed.__file__ or ""
LINES = Path(FILE).read_text().splitlines()


def line_of(text: str, after: str = "") -> int:
    start = next((n for n, line in enumerate(LINES) if after in line), 0)
    return next(n for n, line in enumerate(LINES[start:], start + 1) if text in line)


def arguments(turns: int = 4) -> tuple[Any, ...]:
    return np.arange(64, dtype=np.int32), np.zeros(64, np.int32), turns, 16


def straight(**options: Any) -> Session:
    return debug(followed.straight, 4, *arguments(), **options)


def loops(**options: Any) -> Session:
    return debug(followed.loops, 4, *arguments(), **options)


def lines(session: Session, command: str, times: int) -> list[tuple[str, int]]:
    found = []
    for _ in range(times):
        here = getattr(session, command)()
        found.append((here.function, here.line))
    return found


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Any:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


# Stepping


def test_steps_go_into_functions_and_nexts_over_them() -> None:
    call, up, down = line_of("c, d = pair(b)"), line_of("up = a + 1"), line_of("return up, a - 1")
    with straight() as session:
        assert session.here is not None and session.here.line == line_of("i = ct.bid(0)", "def straight")
        assert repr(session.here) == f"> {FILE}:{session.line} in straight, block (0, 0, 0)\n-> i = ct.bid(0)"
        assert lines(session, "step", 3)[-1] == ("straight", line_of("b += a"))
        assert lines(session, "step", 3) == [("straight", call), ("pair", up), ("pair", down)]
        assert session.step().line == line_of("e = plus(plus(a, d), c)")  # type: ignore[union-attr]
        session.break_at(call)
    with straight() as session:
        session.break_at(call)
        assert session.cont().line == call  # type: ignore[union-attr]
        assert lines(session, "next", 1) == [("straight", line_of("e = plus(plus(a, d), c)"))]


def test_next_does_not_stop_in_another_call_of_the_same_line() -> None:
    with straight() as session:
        session.break_at(line_of("s = a + b"), temporary=True)
        session.cont()
        assert lines(session, "next", 2) == [
            ("plus", line_of("return s * 2")),
            ("straight", line_of("f = ct.sum(e)")),
        ]


def test_finish_leaves_a_function_in_the_middle_of_the_calling_line() -> None:
    with straight() as session:
        session.break_at(line_of("up = a + 1"))
        session.cont()
        here = session.finish()
        assert here is not None and here.function == "straight"
        assert session.finish() is None and session.ended


def test_until() -> None:
    with loops() as session:
        here = session.until(line_of("ct.store(y, index=(i,), tile=a + total + other"))
        assert here is not None and here.line == line_of("ct.store(y, index=(i,), tile=a + total + other")
        assert session.value("total[0]") > 0


def test_steps_by_operation() -> None:
    with straight() as session:
        names = []
        while session.step_op() is not None:
            assert session.op is not None
            names.append(session.op.name)
        assert names[-1] == "store_view_tko" and names.count("reduce") == 1


def test_breakpoints_and_conditions() -> None:
    with loops() as session:
        item = session.break_at(line_of("total = total + step"), "k == 2")
        here = session.cont()
        assert here is not None and here.reason == "breakpoint 1, k == 2" and session.value("k") == 2
        assert session.cont() is None and item.hits == 1
    with loops() as session:
        session.break_at(f"followed.py:{line_of('other = other + j')}", temporary=True)
        assert session.cont() is not None and session.breakpoints == ()
        assert session.cont() is None
    with loops() as session:
        for text in ("total = total + step", "total += other"):
            session.break_at(line_of(text))
        session.delete(1)
        assert session.cont().line == line_of("total += other")  # type: ignore[union-attr]
        session.delete()
        assert session.cont() is None


def test_a_condition_that_cannot_be_evaluated_stops_and_says_so() -> None:
    with loops() as session:
        session.break_at(line_of("total = total + step"), "nothing == 1")
        here = session.cont()
        assert here is not None and "cannot be evaluated: nothing is not available here" in here.reason


# Looking


def test_frames() -> None:
    with straight() as session:
        session.break_at(line_of("return s * 2"))
        session.cont()
        chain = [(h.function, h.line) for h in session.where()]
        assert chain == [("straight", line_of("e = plus(plus(a, d), c)")), ("plus", line_of("return s * 2"))]
        inner = session.tile("a")
        assert session.up().function == "straight" and session.line == chain[0][1]
        outer = session.tile("a")
        np.testing.assert_array_equal(inner, outer)
        assert "s" not in session.locals() and "d" in session.locals()
        with pytest.raises(UsageError, match="nothing called it"):
            session.up()
        assert session.down().function == "plus"
        with pytest.raises(UsageError, match="innermost"):
            session.down()
        np.testing.assert_array_equal(session.tile("s"), session.tile("a") + session.tile("b"))


def test_values(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.arange(64, dtype=np.int32)
    with straight(block=2) as session:
        session.break_at(line_of("b += a"))
        session.cont()
        a = session.tile("a")
        assert a.dtype == np.int32
        np.testing.assert_array_equal(a, x[32:48])
        np.testing.assert_array_equal(session.tile("b"), 3 * x[32:48])
        assert session.value("i") == 2 and session.value("N") == 16 and session.value("n") == 4
        np.testing.assert_array_equal(session.value("x[32:48] - a"), np.zeros(16))
        session.print("a[:3]")
        assert capsys.readouterr().out == "int32[3]\n[32 33 34]\n"
        with pytest.raises(ValueError, match="read-only"):
            session.value("x")[0] = 1
        assert set(session.locals()) == {"x", "y", "n", "N", "i", "a", "same", "b"}
        a[:] = 0
        np.testing.assert_array_equal(session.tile("a"), x[32:48])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("c", "c is not available here: it is not assigned yet"),
        ("nothing", "nothing is not available here: straight has no such variable"),
        ("%9999", "the kernel has no value %9999"),
        ("M", "M is not available here: it is not assigned yet"),
        ("x[99]", "out of bounds"),
    ],
)
def test_what_is_not_available(expression: str, message: str) -> None:
    with straight() as session, pytest.raises(UsageError, match=message):
        session.value(expression)


def test_a_value_that_was_optimised_away_is_not_shown() -> None:
    @ct.kernel
    def fused(x, y):
        a = ct.load(x, (0,), (16,))
        product = a * 1.5
        unused = a - 1.0  # noqa: F841
        ct.store(y, (0,), product + a)

    x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    with debug(fused, 1, x, y) as session:
        session.step()
        session.step()
        while session.here is not None and "ct.store" not in Path(__file__).read_text().splitlines()[session.line - 1]:
            session.step()
        for name in ("product", "unused"):
            with pytest.raises(UsageError, match=f"{name} is not available here: it was optimised away"):
                session.value(name)
        np.testing.assert_array_equal(session.tile("a"), x)


def test_unsigned_integers_and_lists() -> None:
    @ct.kernel
    def bytes_and_lists(x, ys, pair):
        a = ct.load(x, (0,), (8,))
        b = a + a
        ct.store(ys[0], (0,), ct.load(ys[1], (0,), (8,)) + pair[1])
        ct.store(x, (0,), b)

    x = np.full(8, 200, np.uint8)
    ys = [np.zeros(8, np.float32), np.ones(8, np.float32)]
    with debug(bytes_and_lists, 1, x, ys, (1, 2)) as session:
        while session.step() is not None and "store(x" not in str(session.here):
            pass
        assert session.tile("a").dtype == np.uint8 and session.tile("a")[0] == 200
        assert session.tile("b")[0] == 144
        np.testing.assert_array_equal(session.value("ys[1]"), ys[1])
        np.testing.assert_array_equal(session.value("ys[0]"), np.full(8, 3.0))


# Blocks


def test_the_launch_is_that_of_a_plain_run() -> None:
    plain, followed_args = arguments(), arguments()
    expected = simulate(followed.loops, 4, *plain, batch_blocks=1)
    with debug(followed.loops, 4, *followed_args, block=2, batch_blocks=1) as session:
        session.break_at(line_of("total = total + step"))
        while session.cont() is not None:
            assert session.block == (2, 0, 0)
    np.testing.assert_array_equal(followed_args[1], plain[1])
    assert session.result is not None and session.result.blocks == expected.blocks
    assert session.result.operations >= expected.operations


def test_another_block() -> None:
    with straight(block=1) as session:
        session.break_at(line_of("b += a"))
        session.cont()
        assert session.in_step == 4
        here = session.focus(3)
        assert here is not None and here.block == (3, 0, 0)
        session.next()
        np.testing.assert_array_equal(session.tile("b"), np.arange(48, 64) * 4)


def test_a_block_of_a_later_batch() -> None:
    with straight(batch_blocks=1) as session:
        session.next()
        here = session.focus(2)
        assert here is not None and here.block == (2, 0, 0)
        session.break_at(line_of("b += a"))
        session.cont()
        np.testing.assert_array_equal(session.tile("a"), np.arange(32, 48))
        with pytest.raises(UsageError, match="started before"):
            session.focus(0)


@pytest.mark.parametrize("block", [(4,), (0, 1), (-1,), (0, 0, 0, 0), "ab", ()])
def test_blocks_that_there_are_not(block: Any) -> None:
    with pytest.raises(UsageError, match="block"):
        straight(block=block)


# Ends


def test_leaving_a_session_runs_the_launch_to_its_end() -> None:
    args, plain = arguments(), arguments()
    simulate(followed.straight, 4, *plain)
    with debug(followed.straight, 4, *args) as session:
        session.break_at(line_of("b += a"))
        session.cont()
    assert session.ended and session.result is not None and session.result.blocks == 4
    np.testing.assert_array_equal(args[1], plain[1])
    with pytest.raises(UsageError, match="has ended"):
        session.step()


def test_leaving_a_session_by_an_error_ends_the_launch_where_it_is() -> None:
    args = arguments()
    with pytest.raises(ZeroDivisionError), debug(followed.straight, 4, *args) as session:
        raise ZeroDivisionError
    assert session.ended and session.result is None and not args[1].any()


def test_abort_twice_and_close() -> None:
    session = straight()
    session.abort()
    session.start()
    session.abort()
    session.abort()
    assert session.close() is None and session.result is None
    with pytest.raises(UsageError, match="started already"):
        session.start()


def test_a_session_must_be_started() -> None:
    session = straight()
    for command in (session.step, session.cont, session.locals, lambda: session.value("1")):
        with pytest.raises(UsageError, match="not been started"):
            command()
    assert session.here is None


@ct.kernel
def faulty(x, y):
    i = ct.bid(0)
    index = ct.arange(16, dtype=ct.int32) + i * 16
    t = ct.gather(x, index, check_bounds=False)
    ct.store(y, (i,), t)


def test_an_error_of_the_kernel_is_raised_once_and_can_be_looked_at() -> None:
    x, y = np.arange(40, dtype=np.float32), np.zeros(48, np.float32)
    with debug(faulty, 3, x, y, block=2) as session:
        with pytest.raises(OutOfBoundsError) as caught:
            session.cont()
        assert caught.value.block == (2, 0, 0) and session.ended and session.block == (2, 0, 0)
        assert session.here is not None and "ct.gather" in LINES_HERE[session.line - 1]
        np.testing.assert_array_equal(session.tile("index"), np.arange(32, 48))
    with debug(faulty, 3, x, y) as session:
        with pytest.raises(OutOfBoundsError):
            session.cont()
        assert session.block == (2, 0, 0)
        with pytest.raises(UsageError, match="dropped before this block was followed"):
            session.tile("index")
    with pytest.raises(OutOfBoundsError), debug(faulty, 3, x, y):
        pass


LINES_HERE = Path(__file__).read_text().splitlines()


def test_findings() -> None:
    @ct.kernel
    def races(x, y):
        t = ct.load(x, (ct.bid(0),), (16,))
        ct.store(y, (0,), t)

    x, y = np.arange(64, dtype=np.float32), np.zeros(16, np.float32)
    with debug(races, 4, x, y, sanitize=True) as session:
        finding = session.run_to_finding()
        assert finding is not None and finding.id.startswith("CTS") and finding in session.findings
        if not session.ended:
            assert "finding" in session.here.reason  # type: ignore[union-attr]
        while not session.ended:
            session.run_to_finding()
    assert session.result is not None and session.result.findings
    with straight() as session, pytest.raises(UsageError, match="sanitize=True"):
        session.run_to_finding()


def test_options() -> None:
    for name in ("observer", "executor", "workers", "break_at", "break_blocks", "time_limit"):
        with pytest.raises(UsageError, match=f"takes no {name}"):
            straight(**{name: 1})
    with pytest.raises(UsageError, match="step_limit must be"), straight(step_limit=-1):
        pass
