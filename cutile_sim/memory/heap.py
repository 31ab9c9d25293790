"""Keeps freed memory in the process, so that arrays of a few megabytes do not come as fresh pages every time."""

from __future__ import annotations

from functools import cache

import numpy as np

_BYTES = (32 << 20) - (1 << 16)


@cache
def keep_freed_memory() -> None:
    """Once a process: allocate and free one large array, whose memory is never touched.

    GNU's C library takes blocks above a threshold, 128 KiB at first, straight from the system and hands them back when
    they are freed. It raises the threshold to the size of such a block when one is freed, up to 32 MiB. A process that
    has just started would otherwise pay a page fault for every 4 KiB of every temporary array. Whoever sets
    MALLOC_MMAP_THRESHOLD_ or MALLOC_TRIM_THRESHOLD_ has turned that adjustment off, and this does nothing then; nor
    does it under other C libraries.
    """
    np.empty(_BYTES, np.uint8)
