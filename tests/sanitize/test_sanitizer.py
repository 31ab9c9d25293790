"""The sanitizer as a whole: options, what stops a launch, suppression, sessions."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim import AssertionFailedError, BudgetExceededError, OutOfBoundsError, UsageError, simulate
from cutile_sim.engine.observer import Observer
from cutile_sim.sanitize import CHECK_NAMES, CHECKS, SanitizeOptions, Session

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def floats(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32)


@ct.kernel
def past_the_end(x, y):
    i = ct.arange(16, dtype=ct.int32) + 16 * ct.bid(0)
    ct.scatter(y, i, ct.gather(x, i, check_bounds=False))


@ct.kernel
def past_the_end_on_purpose(x, y):
    i = ct.arange(16, dtype=ct.int32) + 16 * ct.bid(0)
    ct.scatter(y, i, ct.gather(x, i, check_bounds=False))  # cutile-sim: ignore[CTS101]


def test_goes_on_where_a_plain_run_stops() -> None:
    x, y = floats(24), np.full(32, -1, np.float32)
    with pytest.raises(OutOfBoundsError):
        simulate(past_the_end, 2, x, y)
    (finding,) = simulate(past_the_end, 2, x, y, sanitize=True).findings
    assert finding.id == "CTS101" and finding.count == 8
    np.testing.assert_array_equal(y[:24], x)


def test_comment_suppresses() -> None:
    assert simulate(past_the_end_on_purpose, 2, floats(24), floats(32), sanitize=True).findings == ()


def test_options() -> None:
    assert set(CHECK_NAMES) == set(CHECKS)
    assert simulate(past_the_end, 1, floats(24), floats(32), sanitize=False).findings == ()
    with pytest.raises(OutOfBoundsError) as caught:
        simulate(past_the_end, 2, floats(24), floats(32), sanitize=SanitizeOptions(checks=("races",)))
    assert [f.id for f in caught.value.findings] == ["CTS101"]
    with pytest.raises(UsageError, match="no check 'speed'"):
        SanitizeOptions(checks=("speed",))
    with pytest.raises(UsageError, match="resident_blocks must be at least 1"):
        SanitizeOptions(resident_blocks=0)
    with pytest.raises(UsageError, match="one observer"):
        simulate(past_the_end, 1, floats(24), floats(32), sanitize=True, observer=Observer())


@pytest.mark.parametrize("check", CHECK_NAMES)
def test_each_check_runs_alone(check: str) -> None:
    x, y = floats(32), floats(32)
    assert simulate(past_the_end, 2, x, y, sanitize=SanitizeOptions(checks=(check,))).findings == ()


@ct.kernel
def asserts(x):
    ct.assert_(ct.load(x, (0,), (16,)) < 9.0, "too large")


def test_failed_assertion_is_a_finding_too() -> None:
    with pytest.raises(AssertionFailedError) as caught:
        simulate(asserts, 1, floats(16), sanitize=True, echo=False)
    (finding,) = caught.value.findings
    assert finding.id == "CTS901" and finding.lane == (9,)


@ct.kernel
def endless(x):
    t = ct.load(x, (0,), (1,))
    while ct.sum(t) < 1:
        t = t * 2
    ct.store(x, (0,), t)


def test_endless_loop() -> None:
    with pytest.raises(BudgetExceededError) as caught:
        simulate(endless, 1, np.zeros(1, np.float32), sanitize=True, step_limit=5000)
    assert [f.id for f in caught.value.findings] == ["CTS802"]


def test_results_do_not_change() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(32).astype(np.float32)
    plain, watched = np.zeros(32, np.float32), np.zeros(32, np.float32)
    simulate(past_the_end, 2, x, plain)
    simulate(past_the_end, 2, x, watched, sanitize=True)
    np.testing.assert_array_equal(plain, watched)


def test_session_collects_each_mistake_once() -> None:
    session = Session()
    for _ in range(3):
        with session.watching() as observer:
            simulate(past_the_end, 2, floats(24), floats(32), observer=observer)
    (finding,) = session.take()
    assert finding.count == 24 and session.findings == ()
    with pytest.raises(AssertionFailedError), session.watching() as observer:
        simulate(asserts, 1, floats(16), observer=observer, echo=False)
    assert [f.id for f in session.take()] == ["CTS901"]


def test_one_array_twice() -> None:
    x = floats(32)
    found = simulate(past_the_end, 2, x, x, sanitize=True).findings
    assert {f.id for f in found} <= {"CTS403"}
