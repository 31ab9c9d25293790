"""Sums and products that wrap though they are promised not to. cuTile promises nothing of the kind: these kernels are
what another front-end may write.
"""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import bytecode

from cutile_sim import simulate
from cutile_sim.tileir.decode import decode

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

PARAMETERS = ("ptr<i32>", "i32", "i32", "i32", "i32")
LIMIT = 2**31 - 1


def store(b, value):
    one = b.op("Reshape", result_type="1xi32", source=value)
    b.op("StorePtrTko", destination=b.op("Reshape", result_type="1xptr<i32>", source=b.parameters[0]), value=one)


def combine(b, flag):
    """One operation on the two numbers that the kernel takes, with a flag."""
    overflow = getattr(b.encodings.IntegerOverflow, flag)
    return {"result_type": "i32", "lhs": b.parameters[3], "rhs": b.parameters[4], "overflow": overflow}


def sum_promised_signed(b):
    total = b.op("AddI", **combine(b, "NSW"))  # BUG: CTS402
    store(b, total)


def sum_promised_unsigned(b):
    """As an unsigned number the same sum fits."""
    store(b, b.op("AddI", **combine(b, "NUW")))


def product_promised_signed(b):
    product = b.op("MulI", **combine(b, "NSW"))  # BUG: CTS402
    store(b, product)


def product_that_may_wrap(b):
    store(b, b.op("MulI", **combine(b, "NONE")))


def difference_promised_unsigned(b):
    rest = b.op("SubI", **combine(b, "NUW"))  # BUG: CTS402
    store(b, rest)


def difference_promised_signed(b):
    store(b, b.op("SubI", **combine(b, "NSW")))


def numbers(left, right):
    return lambda: (np.zeros(1, np.int32), left, right)


def test_sum(pair):
    (finding,) = pair("sum_promised_signed", "sum_promised_unsigned", (1,), numbers(LIMIT, 1), parameters=PARAMETERS)
    assert "2147483647 + 1 = 2147483648 does not fit 32 bits" in finding.message


def test_product(pair):
    pair("product_promised_signed", "product_that_may_wrap", (1,), numbers(65536, 65536), parameters=PARAMETERS)


def test_difference(pair):
    pair("difference_promised_unsigned", "difference_promised_signed", (1,), numbers(3, 5), parameters=PARAMETERS)


@pytest.mark.parametrize("body", [sum_promised_signed, product_promised_signed, difference_promised_unsigned])
def test_promise_that_is_kept(body):
    module = decode(bytecode(body, PARAMETERS))
    assert simulate(module, 1, np.zeros(1, np.int32), 7, 5, sanitize=True).findings == ()
