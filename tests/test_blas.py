"""OpenBLAS is held to one thread, and let go again."""

from __future__ import annotations

import pytest

from cutile_sim.blas import _openblas, one_blas_thread


def test_held_until_the_last_has_left() -> None:
    found = _openblas()
    if found is None:
        pytest.skip("NumPy is not linked with OpenBLAS")
    get, put = found
    before = get()
    put(2)
    with one_blas_thread():
        assert get() == 1
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        assert get() == 1
    assert get() == 2
    put(before)
