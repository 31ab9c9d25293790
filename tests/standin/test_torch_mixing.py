"""Tensors of the CPU and of the simulated GPU in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.cutile, pytest.mark.usefixtures("installed")]

F = torch.nn.functional

REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "+=": lambda x, y: x.__iadd__(y),
    "<": lambda x, y: x < y,
    "@": lambda x, y: x @ y,
    "torch.mul": torch.mul,
    "add_": lambda x, y: x.add_(y),
    "maximum": torch.maximum,
    "where": lambda x, y: torch.where(x > 0, x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack((x, y)),
    "einsum": lambda x, y: torch.einsum("ij,jk->ik", x, y),
    "equal": torch.equal,
    "allclose": torch.allclose,
    "linear": F.linear,
    "mse_loss": F.mse_loss,
    "index_select": lambda x, y: torch.index_select(x, 0, y[0].long()),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_both_devices_in_one_call_are_refused(call: Any) -> None:
    gpu, cpu = torch.ones(2, 2, device="cuda"), torch.ones(2, 2)
    text = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    for left, right in ((gpu, cpu), (cpu, gpu)):
        with pytest.raises(RuntimeError, match=text):
            call(left, right)
    call(gpu, gpu)
    call(cpu, cpu)


def test_a_module_that_was_not_moved_is_found() -> None:
    with pytest.raises(RuntimeError, match="on the same device"):
        torch.nn.Linear(2, 3)(torch.ones(1, 2, device="cuda"))
    with pytest.raises(RuntimeError, match="on the same device"):
        torch.nn.Linear(2, 3).cuda()(torch.ones(1, 2))


def test_numbers_on_the_cpu_pass() -> None:
    x = torch.ones(3, device="cuda")
    for number in (torch.tensor(2.0), x.cpu().sum(), torch.tensor(2)):
        assert (x * number).is_cuda and torch.where(x > 0, x, number).is_cuda
    with pytest.raises(RuntimeError, match="on the same device"):
        torch.ones(3) * torch.tensor([2.0], device="cuda")


def test_what_takes_both_devices_still_does() -> None:
    gpu, cpu = torch.zeros(4, device="cuda"), torch.arange(4.0)
    gpu.copy_(cpu)
    gpu[:2] = cpu[2:]
    assert gpu.tolist() == [2, 3, 2, 3]
    assert gpu[torch.tensor([1, 0])].tolist() == [3, 2]
    assert cpu.to(gpu).is_cuda
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
        cpu[torch.tensor([1], device="cuda")]


def test_training_on_the_gpu() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3)).cuda()
    for optimizer in (torch.optim.Adam(model.parameters()), torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)):
        for _ in range(2):
            optimizer.zero_grad()
            x, labels = torch.randn(5, 4).cuda(), torch.tensor([0, 1, 2, 1, 0], device="cuda")
            F.cross_entropy(model(x), labels).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    assert all(p.is_cuda and p.grad.is_cuda for p in model.parameters())
