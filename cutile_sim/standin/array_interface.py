"""`__cuda_array_interface__` of arrays on the simulated GPU: the address is one of host memory."""

from __future__ import annotations

from typing import Any

import numpy as np


def array_interface(host: np.ndarray, stream: int | None) -> dict[str, Any]:
    """Version 3 of the interface. `stream` is that of the work the array waits for: 1 the default one, None none."""
    return {
        "shape": host.shape,
        "strides": None if host.flags.c_contiguous else host.strides,
        "typestr": host.dtype.str,
        "data": (host.ctypes.data if host.size else 0, False),
        "stream": stream,
        "version": 3,
    }
