"""What a GPU computed for single operations on tiles."""

import json
from pathlib import Path

import numpy as np

from cutile_sim.dtypes import ElementType, from_bits

with np.load(Path(__file__).parent / "tiles_small.npz") as _file:
    CASES, _DATA = json.loads(_file["index"].tobytes()), _file["data"]


def recorded(case: str) -> list[np.ndarray]:
    """A GPU recording: the inputs, then the output."""
    return [
        _DATA[at : at + np.dtype(dtype).itemsize * int(np.prod(shape))].view(dtype).reshape(shape)
        for at, dtype, shape in CASES[case]
    ]


def carried(raw: np.ndarray, element: ElementType) -> np.ndarray:
    """Recorded bytes as the engine holds them, for a grid of one block."""
    return from_bits(raw.view(f"u{raw.itemsize}"), element)[None, None, None]
