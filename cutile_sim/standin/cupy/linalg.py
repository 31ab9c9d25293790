"""`cupy.linalg`, made from NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.standin.cupy.functions import of_arrays
from cutile_sim.standin.cupy.missing import missing_attribute

LinAlgError = np.linalg.LinAlgError

_NAMES = """
cholesky det eigh eigvalsh inv lstsq matrix_power matrix_rank norm pinv qr slogdet solve svd tensorinv tensorsolve
"""

for _name in _NAMES.split():
    globals()[_name] = of_arrays(np.linalg, _name)


def __getattr__(name: str) -> Any:
    raise missing_attribute("cupy.linalg", name)
