"""`cupy.fft`, made from NumPy's. CuPy keeps single precision where NumPy before version 2 computes in double."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.standin.cupy.functions import of_arrays
from cutile_sim.standin.cupy.missing import missing_attribute

_NAMES = """
fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn
"""

for _name in _NAMES.split():
    globals()[_name] = of_arrays(np.fft, _name)


def __getattr__(name: str) -> Any:
    raise missing_attribute("cupy.fft", name)
