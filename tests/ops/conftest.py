"""What tests of operations share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def silent():
    """No warnings of NumPy's arithmetic, as in a launch."""
    with np.errstate(all="ignore"):
        yield
