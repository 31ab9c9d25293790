"""`cupy.testing`: NumPy's comparisons for arrays on the simulated GPU, on the host, or one of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cutile_sim.standin.cupy.functions import asnumpy
from cutile_sim.standin.cupy.missing import missing_attribute


def _comparison(name: str) -> Callable[..., None]:
    function = getattr(np.testing, name)

    def call(x: Any, y: Any, *args: Any, **kwargs: Any) -> None:
        function(asnumpy(x), asnumpy(y), *args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"As `numpy.testing.{name}`."
    return call


_NAMES = """
assert_allclose assert_array_almost_equal assert_array_almost_equal_nulp assert_array_equal assert_array_less
assert_array_max_ulp
"""

for _name in _NAMES.split():
    globals()[_name] = _comparison(_name)


def __getattr__(name: str) -> Any:
    raise missing_attribute("cupy.testing", name)
