"""Torch functions of tensors on the simulated GPU, against exact values."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
pytestmark = pytest.mark.usefixtures("installed")


def units_off(values: Any, exact: list[float]) -> float:
    """The largest distance from exact values, in units of the last place of float32."""
    wanted = np.array(exact)
    return float(np.max(np.abs(values.tolist() - wanted) / np.spacing(np.abs(wanted).astype(np.float32))))


@pytest.mark.parametrize("name", ["exp", "log", "log2", "tan", "sinh", "tanh", "sqrt", "sin", "cos"])
@pytest.mark.parametrize("method", [False, True])
def test_elementary_functions(name: str, method: bool) -> None:
    x = torch.rand(500, device="cuda") * 10 + 0.1
    y = getattr(x, name)() if method else getattr(torch, name)(x)
    assert (y.dtype, y.is_cuda) == (torch.float32, True)
    # Half a unit is the best that rounding can do; NumPy states less than two for its sine and cosine.
    limit = 2.0 if name in ("sin", "cos") else 0.5001
    assert units_off(y, [getattr(math, name)(v) for v in x.tolist()]) <= limit


def test_integers_are_converted_first() -> None:
    x = torch.arange(1, 100, device="cuda", dtype=torch.int16)
    assert units_off(torch.log(x), [math.log(v) for v in range(1, 100)]) <= 0.5001
    assert torch.sin(x).dtype == torch.float32
    assert torch.sqrt(x.to(torch.float16)).dtype == torch.float16


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "sqrt"])
def test_gradients(name: str) -> None:
    x = torch.rand(4, device="cuda") + 0.5
    x.requires_grad_()
    getattr(torch, name)(x).sum().backward()
    derivative = {"sin": math.cos, "cos": lambda v: -math.sin(v), "exp": math.exp, "sqrt": lambda v: 0.5 / math.sqrt(v)}
    assert x.grad.tolist() == pytest.approx([derivative[name](v) for v in x.tolist()], rel=1e-6)
    assert x.grad.is_cuda


def test_what_the_cpu_does_not_have() -> None:
    flags = torch.tensor([True, False], device="cuda")
    assert abs(flags).tolist() == torch.abs(flags).tolist() == [True, False]
    a = torch.full((2, 3), 2048.0, device="cuda", dtype=torch.float16)
    product = torch.mm(a, a.T, out_dtype=torch.float32)
    assert (product.dtype, product.is_cuda) == (torch.float32, True)
    assert product.tolist() == [[3 * 2048.0**2] * 2] * 2


def test_tensors_on_the_cpu_are_torch_s_own_affair() -> None:
    with pytest.raises(NotImplementedError):
        torch.abs(torch.tensor([True]))
