"""Printing and assertions over groups of blocks: order of the text, positions, what a failed assertion says."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim import AssertionFailedError, simulate

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")

BATCHES = (None, 1, 2, 5)


@ct.kernel
def print_in_branches(x):
    i, j = ct.bid(0), ct.bid(1)
    ct.print("start", i, j)
    for k in range(i):
        if (j + k) % 2 == 0:
            ct.print("even", i, j, k)
        else:
            ct.printf("odd %d %d %d\n", i, j, k)
    if j == 1:
        ct.print(ct.load(x, (i,), (2,)))
    ct.print("end", i, j)


@ct.kernel
def check_all(x):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, (i, j), (2, 4))
    ct.print("block", i, j)
    ct.assert_(t >= 0, "negative")
    ct.print("fine", i, j)


@ct.kernel
def check_scalar(n):
    ct.assert_(ct.bid(0) < n, '100% wrong: {braces} and "quotes"')


@pytest.mark.parametrize("batch_blocks", BATCHES)
@pytest.mark.parametrize("version", ["13.1", "13.4"])
def test_text_is_in_launch_order_of_the_blocks(version, batch_blocks):
    x = np.arange(8, dtype=np.int32)
    lines = []
    for j in range(3):
        for i in range(4):
            lines.append(f"start {i} {j}")
            lines += [f"{'even' if (j + k) % 2 == 0 else 'odd'} {i} {j} {k}" for k in range(i)]
            lines += [f"[{2 * i}, {2 * i + 1}]"] * (j == 1)
            lines.append(f"end {i} {j}")
    result = simulate(print_in_branches, (4, 3), x, bytecode_version=version, batch_blocks=batch_blocks, echo=False)
    assert result.printed.splitlines() == lines


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_failed_assertion(batch_blocks):
    x = np.zeros((4, 12), np.float32)
    x[1, 9] = x[3, 4] = x[3, 7] = -1
    with pytest.raises(AssertionFailedError, match="assertion failed: negative") as caught:
        simulate(check_all, (2, 3), x, echo=False, batch_blocks=batch_blocks)
    error = caught.value
    # Blocks in launch order: x fastest.
    assert (error.block, error.lane) == ((1, 1, 0), (1, 0))
    assert error.location is not None and error.location.file.endswith("test_debug.py")
    place = f"{error.location.file}:{error.location.line}: tile block: "
    lines = error.printed.splitlines()
    assert [line for line in lines if line.startswith(place + "[1, 1, 0]")] == [
        f"{place}[1, 1, 0], position: [1, 0]: negative",
        f"{place}[1, 1, 0], position: [1, 3]: negative",
    ]
    assert lines[lines.index("block 1 1") + 1].startswith(place)
    assert "fine 1 1" not in lines
    assert "block (1, 1, 0), lane (1, 0)" in str(error) and 'ct.assert_(t >= 0, "negative")' in str(error)


def test_failed_assertion_of_a_scalar():
    with pytest.raises(AssertionFailedError) as caught:
        simulate(check_scalar, 5, 3, echo=False)
    error = caught.value
    assert (error.block, error.lane) == ((3, 0, 0), None)
    assert error.printed.splitlines()[0].endswith(
        'tile block: [3, 0, 0], position: []: 100% wrong: {braces} and "quotes"'
    )
    assert len(error.printed.splitlines()) == 2
    simulate(check_scalar, 3, 3)
