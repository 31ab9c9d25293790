"""One thread in NumPy's BLAS while several threads of ours call it: its own would only get in their way."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")
_lock = threading.Lock()
_inside = 0
_threads_before = 0


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], Any]] | None:
    """How to get and set the number of threads of the OpenBLAS that NumPy is linked with; None for any other BLAS."""
    core = getattr(np, "_core", None) or np.core
    try:
        # A symbol of a library that this one needs is found through it.
        library = ctypes.CDLL(core._multiarray_umath.__file__)
    except OSError:
        return None
    for name in _NAMES:
        get, put = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
        if get is not None and put is not None:
            return get, put
    return None


def blas_threads() -> int:
    """How many threads OpenBLAS uses now; 0 where it is another BLAS."""
    found = _openblas()
    return 0 if found is None else found[0]()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold OpenBLAS to one thread, in the whole process, until the last of those inside has left. Other BLAS
    libraries are left as they are.
    """
    global _inside, _threads_before
    found = _openblas()
    if found is None:
        yield
        return
    get, put = found
    with _lock:
        if _inside == 0:
            _threads_before = get()
            put(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                put(_threads_before)
