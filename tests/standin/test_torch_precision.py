"""What torch computes on the simulated GPU is as precise as on a GPU, and no more where it rounds to TF32."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("torch")

from cutile_sim.standin import simulated_launches


@pytest.fixture
def torch() -> Iterator[ModuleType]:
    with simulated_launches("sm_90", force=True):
        import torch

        precision = torch.get_float32_matmul_precision()
        yield torch
        torch.set_float32_matmul_precision(precision)


def exact_row_by_column(row: list[float], column: list[float]) -> Fraction:
    return sum((Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True)), Fraction(0))


@pytest.mark.parametrize("form", ["@", "matmul", "linear", "einsum", "addmm"])
def test_float16_products_round_once(torch: ModuleType, form: str) -> None:
    torch.manual_seed(1)
    a = torch.randn(3, 700, device="cuda").half()
    b = torch.randn(700, 2, device="cuda").half()
    result = {
        "@": lambda: a @ b,
        "matmul": lambda: torch.matmul(a, b),
        "linear": lambda: torch.nn.functional.linear(a, b.T),
        "einsum": lambda: torch.einsum("mk,kn->mn", a, b),
        "addmm": lambda: torch.addmm(torch.zeros(2, device="cuda").half(), a, b),
    }[form]()
    assert result.dtype == torch.float16
    assert result.is_cuda
    want = [[float(np.float16(exact_row_by_column(r, c))) for c in b.T.tolist()] for r in a.tolist()]
    assert result.tolist() == want


def test_float32_products_are_tf32_where_allowed(torch: ModuleType) -> None:
    a = torch.tensor([[1 + 2**-11, 1 + 2**-10, 1 + 3 * 2**-11, float("inf")]], device="cuda")
    identity = torch.tensor([[1.0]], device="cuda")
    torch.set_float32_matmul_precision("highest")
    assert (a.T @ identity).flatten().tolist() == a.flatten().tolist()
    torch.set_float32_matmul_precision("high")
    assert (a.T @ identity).flatten().tolist() == [1, 1 + 2**-10, 1 + 2**-9, float("inf")]


def test_gradients_flow(torch: ModuleType) -> None:
    torch.set_float32_matmul_precision("high")
    a = torch.ones(2, 2, device="cuda", requires_grad=True)
    (a @ torch.full((2, 2), 3.0, device="cuda")).sum().backward()
    assert a.grad.tolist() == [[6, 6], [6, 6]]


def test_norm_sums_gradients_of_bfloat16_wider(torch: ModuleType) -> None:
    rows = 2048
    bias = torch.zeros(4, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    x = torch.randn(rows, 4, device="cuda", dtype=torch.bfloat16)
    torch.nn.functional.layer_norm(x, (4,), None, bias).backward(torch.ones_like(x))
    assert bias.grad.tolist() == [rows] * 4


def test_attention_with_a_backend_of_the_gpu(torch: ModuleType) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    values = torch.tensor([1.0, 3.0], device="cuda").half().reshape(1, 1, 2, 1)
    keys = torch.zeros_like(values)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        result = torch.nn.functional.scaled_dot_product_attention(keys, keys, values)
    assert result.flatten().tolist() == [2, 2]


@pytest.mark.parametrize(("use_fast_accum", "want"), [(True, 1.0), (False, 1 + 4 * 2**-15)])
def test_float8_products_sum_in_14_bits(torch: ModuleType, use_fast_accum: bool, want: float) -> None:
    # Beside 1, each of the products of 2**-15 lies below the last of 14 bits; summed apart they do not.
    a = torch.zeros(64, 256, device="cuda")
    a[:, 0], a[:, 128:132] = 1, 2**-7
    b = torch.zeros(256, 16, device="cuda")
    b[0], b[128:132] = 1, 2**-8
    one = torch.ones((), device="cuda")
    result = torch._scaled_mm(
        a.to(torch.float8_e4m3fn),
        b.T.contiguous().to(torch.float8_e5m2).T,
        one,
        one,
        out_dtype=torch.float32,
        use_fast_accum=use_fast_accum,
    )
    assert result.unique().tolist() == [want]


def test_cpu_tensors_are_left_to_torch(torch: ModuleType) -> None:
    torch.set_float32_matmul_precision("high")
    a = torch.tensor([[1 + 2**-11]])
    assert (a @ torch.ones(1, 1)).item() == 1 + 2**-11


def test_mixed_types_are_refused(torch: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="dtype"):
        torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda").half()
