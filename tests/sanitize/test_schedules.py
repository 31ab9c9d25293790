"""What a race report says of the two orders. The oracle runs them: the two blocks one after the other, both ways."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest

from cutile_sim import simulate
from cutile_sim.sanitize import SanitizeOptions

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

READ, WRITE, ADD, MAX, SWAP, EXCHANGE = range(6)


@ct.function
def act(what: ct.Constant[int], x, seen, value):
    if what == READ:
        ct.scatter(seen, 0, ct.gather(x, 0))
    elif what == WRITE:
        ct.scatter(x, 0, value)
    elif what == ADD:
        ct.atomic_add(x, 0, value)
    elif what == MAX:
        ct.atomic_max(x, 0, value)
    elif what == SWAP:
        ct.atomic_cas(x, 0, 3, value)
    else:
        ct.atomic_xchg(x, 0, value)


@ct.kernel
def meet(x, seen, one: ct.Constant[int], two: ct.Constant[int], swapped: ct.Constant[bool]):
    first = ct.bid(0) == (1 if swapped else 0)
    if first:
        act(one, x, seen, 5)
    else:
        act(two, x, seen, 7)


def run(one: int, two: int, swapped: bool) -> int:
    """What stays in memory, or what was read."""
    x, seen = np.array([3], np.int32), np.array([-1], np.int32)
    simulate(meet, 2, x, seen, one, two, swapped, batch_blocks=1)
    return int(seen[0] if READ in (one, two) else x[0])


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize(
    ("one", "two"), [p for p in product(range(6), range(6)) if {READ, WRITE} & set(p) and set(p) != {READ}]
)
def test_both_orders_are_as_said(one: int, two: int, batch: int | None) -> None:
    values = {0: run(one, two, False), 1: run(one, two, True)}  # by the block that comes first, which is `one`
    x, seen = np.array([3], np.int32), np.array([-1], np.int32)
    options = SanitizeOptions(checks=("races",))
    found = simulate(meet, 2, x, seen, one, two, False, batch_blocks=batch, sanitize=options).findings
    (finding,) = found
    orders = json.loads(json.dumps(finding.to_json()))["details"]["orders"]
    assert {o["order"][0][0]: o["value"] for o in orders} == {0: values[0], 1: values[1]}
    assert all(str(v) in finding.message for v in values.values())


@ct.kernel
def store_number(x, value):
    ct.scatter(x, 0, ct.where(ct.bid(0) == 0, value, 1.0))


def test_numbers_that_json_does_not_know() -> None:
    (finding,) = simulate(store_number, 2, np.zeros(1, np.float32), math.inf, sanitize=True).findings
    assert {o["value"] for o in finding.details["orders"]} == {"inf", 1.0}


@ct.kernel
def write_twice_then_read(x, seen):
    if ct.bid(0) == 0:
        ct.scatter(x, 0, 4)
        ct.scatter(x, 0, 5)
    else:
        ct.scatter(seen, 0, ct.gather(x, 0))


def test_says_nothing_of_values_that_are_not_known() -> None:
    """What lay there before the last store is gone."""
    (finding,) = simulate(write_twice_then_read, 2, np.zeros(1, "i4"), np.zeros(1, "i4"), sanitize=True).findings
    assert finding.id == "CTS202" and finding.details == {} and finding.message.endswith("nothing orders the two")
