"""Torch tensors "on cuda": where they are, what copies, what stays an alias, and launches around autograd."""

from __future__ import annotations

import copy
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from cutile_sim.standin import activation

ct = pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.cutile, pytest.mark.usefixtures("installed")]

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")


MADE_ON_GPU = {
    "zeros": lambda: torch.zeros(3, device="cuda"),
    "torch.device": lambda: torch.ones(3, device=torch.device("cuda:0")),
    "number": lambda: torch.full((3,), 1.0, device=0),
    "tensor": lambda: torch.tensor([1, 2, 3], device="cuda"),
    "rand": lambda: torch.rand(3, device="cuda", generator=torch.Generator("cuda").manual_seed(1)),
    "make_tensor": lambda: torch.testing.make_tensor(3, dtype=torch.float32, device="cuda"),
    "as_tensor": lambda: torch.as_tensor(np.ones(3), device="cuda"),
    "asarray": lambda: torch.asarray(np.ones(3), device="cuda"),
    "cuda()": lambda: torch.ones(3).cuda(),
    "to(text)": lambda: torch.ones(3).to("cuda"),
    "to(device=)": lambda: torch.ones(3).to(device="cuda", dtype=torch.float16, non_blocking=True),
    "to(other)": lambda: torch.ones(3).to(torch.zeros(1, device="cuda")),
    "pinned": lambda: torch.ones(3).pin_memory().cuda(non_blocking=True),
    "like": lambda: torch.empty_like(torch.zeros(3, device="cuda")),
    "new": lambda: torch.zeros(3, device="cuda").new_ones(2),
    "sum of both": lambda: torch.zeros(3, device="cuda") + 1,
    "one of two": lambda: torch.max(torch.ones(2, 2, device="cuda"), dim=0).values,
    "list": lambda: torch.cat([torch.ones(2, device="cuda"), torch.zeros(1, device="cuda")]),
    "split": lambda: torch.ones(4, device="cuda").split(2)[1],
    "view": lambda: torch.ones(4, device="cuda")[1:].view(1, 3).T,
    "detach": lambda: torch.ones(4, device="cuda", requires_grad=True).detach(),
    "deepcopy": lambda: copy.deepcopy(torch.ones(4, device="cuda")),
    "module": lambda: torch.nn.Linear(2, 3).cuda().weight,
    "module(device=)": lambda: torch.nn.Linear(2, 3, device="cuda").bias,
    "output of a module": lambda: torch.nn.Linear(2, 3).to("cuda")(torch.ones(1, 2, device="cuda")),
    "type": lambda: torch.ones(3).type("torch.cuda.HalfTensor"),
    "bfloat16": lambda: torch.ones(3, device="cuda").to(torch.bfloat16),
}

MADE_ON_CPU = {
    "plain": lambda: torch.zeros(3),
    "cpu()": lambda: torch.zeros(3, device="cuda").cpu(),
    "to": lambda: torch.zeros(3, device="cuda").to("cpu"),
    "device=": lambda: torch.zeros_like(torch.zeros(3, device="cuda"), device="cpu"),
    "from_numpy": lambda: torch.from_numpy(np.zeros(3)),
    "module": lambda: torch.nn.Linear(2, 3).cuda().cpu().weight,
}


@pytest.mark.parametrize("make", MADE_ON_GPU.values(), ids=MADE_ON_GPU)
def test_on_the_gpu(make: Any) -> None:
    tensor = make()
    assert tensor.device == GPU
    assert tensor.is_cuda
    assert not tensor.is_cpu
    assert tensor.get_device() == 0
    assert "device='cuda:0'" in repr(tensor)


@pytest.mark.parametrize("make", MADE_ON_CPU.values(), ids=MADE_ON_CPU)
def test_on_the_cpu(make: Any) -> None:
    tensor = make()
    assert (tensor.device, tensor.is_cuda, tensor.is_cpu) == (CPU, False, True)
    assert "cuda" not in repr(tensor)


def test_default_device() -> None:
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda
        assert torch.as_tensor([1]).is_cuda
        assert not torch.ones(2, device="cpu").is_cuda
        assert torch.get_default_device() == GPU
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(2).is_cuda
    finally:
        torch.set_default_device(None)
    assert not torch.zeros(2).is_cuda


def test_moving_copies_and_staying_does_not() -> None:
    host = torch.zeros(4)
    moved = host.cuda()
    moved += 1
    assert host.tolist() == [0] * 4
    assert moved.cuda().data_ptr() == moved.to("cuda").data_ptr() == moved.data_ptr()
    back = moved.cpu()
    moved += 1
    assert back.tolist() == [1] * 4
    assert host.cpu().data_ptr() == host.data_ptr()
    array = np.zeros(4, np.float32)
    torch.as_tensor(array, device="cuda").fill_(3)
    assert not array.any()
    assert moved[1:].data_ptr() == moved.data_ptr() + 4


def test_numpy_needs_the_cpu() -> None:
    tensor = torch.ones(2, device="cuda")
    with pytest.raises(TypeError, match=r"can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\(\)"):
        tensor.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        np.asarray(tensor)
    assert tensor.cpu().numpy().tolist() == tensor.tolist() == [1, 1]


def test_there_is_one_gpu() -> None:
    for make in (lambda: torch.zeros(1, device="cuda:1"), lambda: torch.zeros(1).cuda(1), lambda: torch.zeros(1).to(2)):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            make()


def test_repr_is_torch_s() -> None:
    assert repr(torch.tensor([1.0, 2.0], device="cuda")) == "tensor([1., 2.], device='cuda:0')"
    half = torch.tensor(1.5, device="cuda", dtype=torch.float16)
    assert repr(half) == "tensor(1.5000, device='cuda:0', dtype=torch.float16)"
    with_gradient = torch.ones(1, device="cuda", requires_grad=True)
    assert repr(with_gradient) == "tensor([1.], device='cuda:0', requires_grad=True)"


def test_launch_writes_in_place(kernels: Any) -> None:
    x = torch.arange(64, device="cuda", dtype=torch.bfloat16)
    y = torch.zeros(2, 64, device="cuda", dtype=torch.bfloat16)
    ct.launch(torch.cuda.current_stream(), (4,), kernels.increment, (x, y[1], 16))
    assert y[0].tolist() == [0] * 64
    assert y[1].tolist() == list(range(1, 65))


def test_launch_refuses_cpu_tensors(kernels: Any) -> None:
    x, y = torch.zeros(64, device="cuda"), torch.zeros(64)
    with pytest.raises(ValueError, match=r'not on a CUDA device: it is a CPU tensor; create it with device="cuda"'):
        ct.launch(0, (4,), kernels.increment, (x, y, 16))
    with pytest.raises(ValueError, match="not on a CUDA device"):
        ct.launch(0, (4,), kernels.increment, (x, y.cuda().cpu(), 16))


def increment_function(kernels: Any, seen: list[Any]) -> Any:
    class Increment(torch.autograd.Function):
        """x + 1 by a kernel; its derivative plus 1, by the same kernel."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = torch.empty_like(x)
            ct.launch(torch.cuda.current_stream(), (x.numel() // 8,), kernels.increment, (x, y, 8))
            ctx.save_for_backward(x)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            out = torch.empty(grad.shape, device="cuda")
            seen.extend([x.device, grad.device, out.device, torch.ones(1, device="cpu").device])
            ct.launch(torch.cuda.current_stream(), (8,), kernels.increment, (grad.contiguous(), out, 8))
            return out

    return Increment


@pytest.mark.parametrize("how", ["backward", "grad", "thread"])
def test_autograd_functions_around_launches(kernels: Any, how: str) -> None:
    seen: list[Any] = []
    x = torch.arange(64, device="cuda", dtype=torch.float32).requires_grad_()
    total = (increment_function(kernels, seen).apply(x * 3) * 2).sum()
    if how == "grad":
        (gradient,) = torch.autograd.grad(total, x)
    else:
        thread = threading.Thread(target=total.backward)
        thread.start() if how == "thread" else total.backward()
        if how == "thread":
            thread.join()
        gradient = x.grad
    assert total.item() == 2 * sum(3 * i + 1 for i in range(64))
    assert gradient.tolist() == [(2 + 1) * 3] * 64
    assert gradient.is_cuda
    assert seen == [GPU, GPU, GPU, CPU]


def test_packed_sequences() -> None:
    x = torch.arange(6.0, device="cuda").reshape(3, 2, 1)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 1]))
    assert (packed.data.tolist(), packed.batch_sizes.tolist()) == ([[0], [1], [2], [4]], [2, 1, 1])
    assert packed.data.is_cuda and not packed.batch_sizes.is_cuda
    unpacked, lengths = torch.nn.utils.rnn.pad_packed_sequence(torch.nn.GRU(1, 2).cuda()(packed)[0])
    assert (unpacked.device, tuple(unpacked.shape), lengths.device, lengths.tolist()) == (GPU, (3, 2, 2), CPU, [3, 1])


def test_gradients_pass_between_the_devices() -> None:
    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).cpu().sum().backward()
    assert (x.grad.tolist(), x.grad.is_cuda) == ([2, 2, 2], False)


@pytest.fixture
def busy_thread() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Runs functions in a thread that was started before launches were simulated, and returns what they return."""
    wanted: queue.Queue[Callable[[], Any] | None] = queue.Queue()
    done: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        while (function := wanted.get()) is not None:
            try:
                done.put(function())
            except Exception as error:
                done.put(error)

    thread = threading.Thread(target=work, name="busy")
    while activation.is_installed():
        activation.uninstall()
    thread.start()
    activation.install()

    def call(function: Callable[[], Any]) -> Any:
        wanted.put(function)
        return done.get()

    yield call
    wanted.put(None)
    thread.join()


def test_a_thread_that_was_running_before_launches(kernels: Any, busy_thread: Any) -> None:
    x, y = torch.arange(8.0, device="cuda"), torch.zeros(8, device="cuda")

    def launch() -> Any:
        ct.launch(torch.cuda.current_stream(), (2,), kernels.increment, (x, y, 4))
        return (y * 2).device, torch.ones(1, device="cuda").device

    assert busy_thread(launch) == (GPU, GPU)
    assert y.tolist() == list(range(1, 9))


def test_a_thread_that_was_running_before_has_the_gpu(busy_thread: Any) -> None:
    found = busy_thread(lambda: torch.zeros(1, device="cuda").device)
    if sys.version_info >= (3, 12):
        assert found == GPU
    else:
        assert "thread 'busy' was running before launches were simulated" in str(found)


def test_threads_have_the_gpu() -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(torch.zeros(1, device="cuda").device)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [GPU] * 3


def test_cuda_array_interface() -> None:
    tensor = torch.arange(6, device="cuda", dtype=torch.int16).reshape(2, 3)
    interface = tensor.T.__cuda_array_interface__
    assert (interface["typestr"], interface["shape"], interface["strides"]) == ("<i2", (3, 2), (2, 6))
    assert interface["data"] == (tensor.data_ptr(), False)
    assert not hasattr(tensor.cpu(), "__cuda_array_interface__")


def test_uninstall_gives_torch_back() -> None:
    from cutile_sim import install, uninstall

    tensor = torch.zeros(2, device="cuda")
    uninstall()
    try:
        assert tensor.device == CPU
        assert torch.cuda.is_available() is False or torch.version.cuda
        assert torch.Generator is torch._C.Generator
    finally:
        install()
