"""Random structured kernels, each against the same text run as plain Python, block by block."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import DATA, HELPER, START, block, indented, kernel_of

from cutile_sim import simulate

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")


def plain_function(lines: list[str]):
    """The statements as a function of plain Python: (x, bx, by, bz) to the three variables and the four lanes of t."""
    body = "\n".join(indented([*START, *lines, "return a, b, c, 0, *t.tolist()"]))
    scope: dict = {
        "pick": lambda x, i: int(x[i]),
        "tile_at": lambda x, i: x[4 * i : 4 * i + 4].astype(np.int64),
        "total": lambda t: sum(t.tolist()),
    }
    exec(f"{HELPER}\ndef plain(x, bx, by, bz):\n{body}\n", scope)
    return scope["plain"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(lines=block(3, None), grid=st.sampled_from([(9,), (5, 4), (3, 2, 4), (1, 7), (2, 1, 3)]))
def test_random_kernel_equals_plain_python_in_every_batching(lines, grid, folder):
    plain = plain_function(lines)
    sizes = (*grid, 1, 1, 1)[:3]
    ids = [(x, y, z) for z, y, x in itertools.product(*(range(n) for n in reversed(sizes)))]
    expected = np.array([plain(DATA, *block_id) for block_id in ids], np.int32)
    kernel, _ = kernel_of(lines, folder)
    counts = set()
    for batch_blocks in (None, 1, 2, 3, 7):
        out = np.zeros(expected.shape, np.int32)
        result = simulate(kernel, grid, DATA, out, batch_blocks=batch_blocks)
        np.testing.assert_array_equal(out, expected, err_msg="\n".join(lines))
        assert result.blocks == len(ids)
        counts.add((result.operations, result.bytes_loaded, result.bytes_stored))
    assert len(counts) == 1, "what a launch does is counted by block, whatever the batches"
