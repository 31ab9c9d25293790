"""`torch.cuda`: what programs ask it for."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from cutile_sim import UnsupportedError, simulated_launches

pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.cutile, pytest.mark.usefixtures("installed")]


def test_devices() -> None:
    assert torch.cuda.is_available()
    assert (torch.cuda.device_count(), torch.cuda.current_device()) == (1, 0)
    assert torch.cuda.get_device_capability() == torch.cuda.get_device_capability("cuda:0") == (9, 0)
    properties = torch.cuda.get_device_properties("cuda")
    assert (properties.major, properties.minor, properties.multi_processor_count) == (9, 0, 132)
    assert properties.name == torch.cuda.get_device_name(0)
    with torch.cuda.device(0), torch.cuda.device("cuda"):
        torch.cuda.set_device(0)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.cuda.set_device(1)
    with simulated_launches("sm_100"):
        assert torch.cuda.get_device_capability() == (10, 0)


def test_streams_and_events() -> None:
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    default = torch.cuda.current_stream()
    assert default == torch.cuda.default_stream() != stream
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() is stream
        start.record()
    assert torch.cuda.current_stream() == default
    with pytest.raises(RuntimeError, match="must be recorded"):
        start.elapsed_time(end)
    end.record(stream)
    stream.wait_event(start)
    stream.wait_stream(default)
    end.synchronize()
    torch.cuda.synchronize()
    assert 0 <= start.elapsed_time(end) < 1e5
    assert stream.query() and end.query()
    assert stream.record_event().query()
    torch.zeros(1, device="cuda").record_stream(stream)
    assert torch.cuda.ExternalStream(77).cuda_stream == 77


def test_memory_and_random_numbers() -> None:
    free, total = torch.cuda.mem_get_info()
    assert free == total == torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated("cuda") == 0
    torch.cuda.manual_seed_all(5)
    state = torch.cuda.get_rng_state()
    first = torch.rand(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(4, device="cuda"))
    torch.manual_seed(5)
    assert torch.equal(first, torch.rand(4, device="cuda"))
    generator = torch.Generator(device="cuda")
    assert generator.device.type == "cuda"
    assert torch.Generator().device.type == "cpu"


def test_nvtx_does_nothing() -> None:
    torch.cuda.nvtx.range_push("a")
    torch.cuda.nvtx.range_pop()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.cuda.CUDAGraph(), "CUDA graphs are not simulated"),
        (lambda: torch.cuda.graph(None), "CUDA graphs are not simulated"),
        (lambda: torch.cuda.memory_snapshot(), "torch.cuda.memory_snapshot has no stand-in"),
        (lambda: torch.cuda.utilization(), "torch.cuda.utilization has no stand-in"),
    ],
)
def test_what_is_missing_says_so(call: Any, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        call()


def test_autocast() -> None:
    x = torch.ones(4, 4, device="cuda")
    with torch.autocast("cuda"):
        assert (x @ x).dtype == torch.float16
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32


def test_names_imported_before(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType

    from cutile_sim import install, uninstall

    uninstall()
    module = ModuleType("a_program_with_torch_names")
    module.current_stream, module.Event = torch.cuda.current_stream, torch.cuda.Event  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    install()
    assert module.current_stream is torch.cuda.current_stream
    assert module.Event is torch.cuda.Event


def test_each_name_has_an_object_of_its_own() -> None:
    """Torch's compiler has a rule for each function, and finds it by the object."""
    stand_ins = [getattr(torch.cuda, name) for name in torch.cuda.__all__ if callable(getattr(torch.cuda, name, None))]
    ours = [value for value in stand_ins if getattr(value, "__module__", "").startswith("cutile_sim")]
    assert len(ours) > 30
    assert len({id(value) for value in ours}) == len(ours)
    assert not any(getattr(value, "__self__", None) is torch.default_generator for value in stand_ins)


@pytest.mark.parametrize("name", ["CUDAGraph", "graph", "device", "device_of", "Event", "Stream", "StreamContext"])
def test_classes_stay_classes(name: str) -> None:
    """Programs name them in annotations such as `torch.cuda.CUDAGraph | None`."""
    assert isinstance(getattr(torch.cuda, name), type)


def test_imported_names_are_put_back() -> None:
    module = types.ModuleType("imports_from_torch_cuda")
    sys.modules[module.__name__] = module
    try:
        with simulated_launches("sm_100"):
            exec("from torch.cuda import empty_cache, ipc_collect, memory_allocated", vars(module))
        assert module.empty_cache is torch.cuda.empty_cache
        assert module.ipc_collect is torch.cuda.ipc_collect
        assert module.memory_allocated is torch.cuda.memory_allocated
    finally:
        del sys.modules[module.__name__]


def test_streams_as_contexts() -> None:
    stream, default = torch.cuda.Stream(), torch.cuda.current_stream()
    for context in (torch.cuda.stream(stream), torch.cuda.StreamContext(stream)):
        with context:
            assert torch.cuda.current_stream() == stream
        assert torch.cuda.current_stream() == default
    with torch.cuda.stream(None):
        assert torch.cuda.current_stream() == default
