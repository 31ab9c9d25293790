"""What an observer gets to see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutile_sim import simulate
from cutile_sim.engine.observer import Observer, Observers
from cutile_sim.errors import BudgetExceededError
from cutile_sim.memory.access import LaneFault

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


EVENTS = {
    "started",
    "before",
    "after",
    "moved",
    "branched",
    "loaded",
    "storing",
    "updating",
    "finished",
    "stalled",
    "starved",
}


class Diary(Observer):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name in EVENTS:
            return lambda *args: self.told.append(name)
        return super().__getattribute__(name)


@ct.kernel
def adds(x, y, n):
    i = ct.bid(0)
    t = ct.load(x, (i,), (16,))
    for _ in range(n):
        t = t + 1
    ct.store(y, (i,), t)


@ct.kernel
def waits(flag):
    while ct.atomic_add(flag, 0, 0) == 0:
        pass


@ct.kernel
def gathers(x, y):
    i = ct.arange(16, dtype=ct.int32)
    ct.store(y, (0,), ct.gather(x, i, check_bounds=False))


def test_order_of_events() -> None:
    diary = Diary()
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    simulate(adds, 2, x, y, 3, observer=diary)
    told = diary.told
    assert told[0] == "started" and told[-1] == "finished"
    assert told.count("before") == told.count("after") and told.index("loaded") < told.index("storing")
    assert told.count("branched") == 4 and told.count("moved") == 5 and "stalled" not in told
    np.testing.assert_array_equal(y, x + 3)


def test_is_told_that_only_waiting_blocks_are_left() -> None:
    diary = Diary()
    with pytest.raises(BudgetExceededError):
        simulate(waits, 2, np.zeros(1, np.int32), observer=diary, step_limit=200)
    assert diary.told.count("stalled") > 3 and "finished" not in diary.told


class Writes(Observer):
    """Sees all that is written."""

    def __init__(self) -> None:
        self.lanes = 0

    def storing(self, place: Any, mask: Any, element: Any, stored: np.ndarray, cx: Any) -> None:
        self.lanes += stored.size


@ct.kernel
def stores_and_adds(x, total):
    t = ct.load(x, (0,), (16,))
    ct.atomic_add(total, 0, ct.sum(t))
    ct.store(x, (0,), t + 1)


def test_updates_count_as_stores() -> None:
    writes = Writes()
    simulate(stores_and_adds, 1, np.ones(16, np.float32), np.zeros(1, np.float32), observer=writes)
    assert writes.lanes == 17


@ct.kernel
def waits_for_the_last(flags):
    b, n = ct.bid(0), ct.num_blocks(0)
    if b + 1 < n:
        while ct.atomic_add(flags, n - 1, 0) == 0:
            pass
    ct.atomic_xchg(flags, b, 1)


class Patient(Observer):
    """Sees how many blocks wait, each time before more are started."""

    most_waiting = 3

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.waiting: list[int] = []

    def starved(self, waiting: list[Any], cx: Any) -> bool:
        self.waiting.append(sum(g.size for g in waiting))
        return self.waiting.count(self.waiting[-1]) < self.turns


@pytest.mark.parametrize("turns", [1, 3])
def test_is_told_before_blocks_are_started_beside_those_that_wait(turns: int) -> None:
    one, other = Patient(turns), Patient(1)
    flags = np.zeros(10, np.int32)
    simulate(waits_for_the_last, 10, flags, observer=Observers(one, other))
    assert one.waiting == other.waiting == [n for n in (3, 6, 9) for _ in range(turns)]
    assert flags.all()


class Tolerant(Observer):
    """Lets lanes at fault be left out."""

    def __init__(self) -> None:
        self.faults: list[tuple[LaneFault, int]] = []

    def started(self, plan: Any, cx: Any) -> None:
        cx.space.tolerate = lambda fault, bad, address: self.faults.append((fault, int(bad.sum())))


def test_faults_may_be_tolerated() -> None:
    x, y = np.arange(10, dtype=np.float32), np.full(16, -1, np.float32)
    observer = Tolerant()
    simulate(gathers, 1, x, y, observer=observer)
    ((fault, count),) = observer.faults
    assert count == 6 and fault.position == (0, 0, 0, 10) and "outside memory" in fault.reason
    np.testing.assert_array_equal(y[:10], x)
    assert not y[10:].any()


def test_several_observers_each_see_all() -> None:
    first, second = Diary(), Diary()
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    simulate(adds, 4, x, y, 3, observer=Observers(first, second))
    assert first.told == second.told
    assert {"started", "before", "after", "moved", "branched", "loaded", "storing", "finished"} <= {*first.told}
    alone = Diary()
    simulate(adds, 4, x, y, 3, observer=alone)
    assert alone.told == first.told
