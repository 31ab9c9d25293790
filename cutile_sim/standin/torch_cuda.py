"""`torch.cuda` for one simulated GPU: streams, events, device properties, memory queries, and what has no stand-in."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
import torch.amp.autocast_mode
import torch.autograd.graph

from cutile_sim.errors import UnsupportedError
from cutile_sim.standin import torch_tensors
from cutile_sim.standin.gpus import Gpu
from cutile_sim.standin.rebind import Rebinder
from cutile_sim.standin.torch_tensors import GPU, check_device

_CUDA_DEVICE_TYPE = 1
_handles = itertools.count(1)


class Stream(torch.Stream):
    """A stream of work. All work is done when the call that starts it returns, so there is nothing to wait for."""

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Stream:
        check_device(device)
        handle = kwargs.get("stream_ptr")
        handle = next(_handles) if handle is None else handle
        self = super().__new__(cls, stream_id=handle, device_index=0, device_type=_CUDA_DEVICE_TYPE)
        self.cuda_stream = handle
        self.priority = priority
        return self

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        """Nothing: a stream of torch is made by `__new__`."""

    def synchronize(self) -> None:
        """Return: everything is done."""

    def query(self) -> bool:
        """Whether everything is done: it is."""
        return True

    def wait_event(self, event: Any) -> None:
        """Return: the event has happened."""

    def wait_stream(self, stream: Any) -> None:
        """Return: the other stream has nothing left to do."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event that happens now."""
        event = event or Event()
        event.record(self)
        return event

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol of cuda.core for streams: version and handle."""
        return 0, self.cuda_stream

    def __enter__(self) -> Stream:
        _streams.stack.append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        _streams.stack.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={GPU} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that somebody else has made."""

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> Stream:
        return super().__new__(cls, device, stream_ptr=stream_ptr)


class Event:
    """A point in time. Time is that of this computer and says nothing about a GPU."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, **kwargs: Any) -> None:
        self.enable_timing = enable_timing
        self.cuda_event = 0
        self.device = GPU
        self._recorded_s: float | None = None

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self._recorded_s = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds of this computer's time from this event to the other."""
        if self._recorded_s is None or end_event._recorded_s is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._recorded_s - self._recorded_s) * 1e3

    def synchronize(self) -> None:
        """Return: the event has happened."""

    def query(self) -> bool:
        """Whether the event has happened: it has."""
        return True

    def wait(self, stream: Any = None) -> None:
        """Return: the event has happened."""


_default_stream = Stream(stream_ptr=0)


class _Streams(threading.local):
    """The streams that a thread has made current, innermost last."""

    def __init__(self) -> None:
        self.stack = [_default_stream]


_streams = _Streams()


class _Device:
    """`torch.cuda.device(0)` as a context."""

    def __init__(self, device: Any) -> None:
        check_device(device)
        self.idx = 0

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: Any) -> None:
        return None


class _DeviceOf(_Device):
    """`torch.cuda.device_of(tensor)` as a context."""

    def __init__(self, obj: Any) -> None:
        super().__init__(None)


def _set_stream(stream: Stream | None) -> None:
    if stream is not None:
        _streams.stack[-1] = stream


class StreamContext:
    """A stream as the current one for a `with` block. None: the one that is current already."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            self.stream.__exit__(*exception)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _no_graphs(*args: Any, **kwargs: Any) -> Any:
    raise UnsupportedError(
        "CUDA graphs are not simulated: launch the kernels directly, or skip this under cutile_sim"
        " (the environment variable CUTILE_SIM_ACTIVE is set)"
    )


class CUDAGraph:
    """A class, because annotations and `isinstance` name it; there are no objects of it."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        _no_graphs()


class _GraphContext(CUDAGraph):
    """`torch.cuda.graph`, a class as well."""


def _missing(name: str) -> Callable[..., Any]:
    def missing(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"torch.cuda.{name} has no stand-in in the simulator")

    return missing


def _no_stand_in() -> None:
    """Called wherever torch is about to touch a real GPU."""
    if not torch_tensors.is_entered():
        raise UnsupportedError(
            f"thread {threading.current_thread().name!r} was running before launches were simulated, and torch has no"
            " simulated GPU in it: start it afterwards, call torch.cuda.current_stream() in it first, or use Python"
            " 3.12 or newer, where neither is needed"
        )
    frame = sys._getframe(1)
    raise UnsupportedError(
        f"{frame.f_globals.get('__name__', 'torch')}.{frame.f_code.co_name} has no stand-in in the simulator,"
        " which keeps torch tensors on the CPU"
    )


class _Generator(torch._C.Generator):
    """A generator "on cuda": numbers from the CPU's algorithm, so not those of a GPU."""

    def __new__(cls, device: Any = "cpu") -> _Generator:
        self = super().__new__(cls, "cpu")
        self._on_gpu = torch_tensors.is_gpu_device(device)
        return self

    @property
    def device(self) -> torch.device:
        """Where the generator was asked to be."""
        return GPU if self._on_gpu else torch.device("cpu")


def _seed_from_default() -> int:
    return torch.default_generator.seed()


def _properties(gpu: Gpu) -> SimpleNamespace:
    return SimpleNamespace(
        name=gpu.name,
        major=gpu.major,
        minor=gpu.minor,
        total_memory=gpu.total_memory_bytes,
        multi_processor_count=gpu.multi_processor_count,
        warp_size=32,
        L2_cache_size=gpu.l2_cache_bytes,
        shared_memory_per_multiprocessor=gpu.shared_memory_per_multiprocessor_bytes,
        shared_memory_per_block_optin=gpu.shared_memory_per_multiprocessor_bytes - 1024,
        shared_memory_per_block=48 << 10,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName=gpu.name,
    )


def _stand_ins(gpu: Callable[[], Gpu]) -> dict[str, Any]:
    """What replaces the names of `torch.cuda`. `gpu` is asked at each call: an inner install may choose another."""

    def for_device(answer: Callable[[Gpu], Any]) -> Callable[..., Any]:
        def query(device: Any = None) -> Any:
            torch_tensors.enter_thread()  # one that was running before
            check_device(device)
            return answer(gpu())

        return query

    rng = torch.default_generator
    zero = for_device(lambda _: 0)
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": _nothing,
        "_lazy_init": _no_stand_in,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": check_device,
        "device": _Device,
        "device_of": _DeviceOf,
        "synchronize": for_device(lambda _: None),
        "Stream": Stream,
        "ExternalStream": ExternalStream,
        "Event": Event,
        "stream": lambda stream: StreamContext(stream),
        "StreamContext": StreamContext,
        "set_stream": _set_stream,
        "current_stream": for_device(lambda _: _streams.stack[-1]),
        "default_stream": for_device(lambda _: _default_stream),
        "get_device_name": for_device(lambda g: g.name),
        "get_device_capability": for_device(lambda g: (g.major, g.minor)),
        "get_device_properties": for_device(_properties),
        "get_arch_list": lambda: [gpu().arch],
        "is_bf16_supported": lambda *args, **kwargs: True,
        "is_tf32_supported": lambda: True,
        "can_device_access_peer": lambda device, peer: False,
        "mem_get_info": for_device(lambda g: (g.total_memory_bytes, g.total_memory_bytes)),
        **dict.fromkeys(
            ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_usage"), zero
        ),
        "memory_stats": for_device(lambda _: {}),
        "memory_summary": lambda *args, **kwargs: "cutile_sim: the memory of the simulated GPU is not accounted for",
        **dict.fromkeys(
            (
                "empty_cache",
                "ipc_collect",
                "reset_peak_memory_stats",
                "reset_max_memory_allocated",
                "reset_max_memory_cached",
                "reset_accumulated_memory_stats",
                "set_per_process_memory_fraction",
            ),
            _nothing,
        ),
        "manual_seed": lambda seed: rng.manual_seed(seed),
        "manual_seed_all": lambda seed: rng.manual_seed(seed),
        "seed": _seed_from_default,
        "seed_all": _seed_from_default,
        "initial_seed": lambda: rng.initial_seed(),
        "get_rng_state": lambda device=None: rng.get_state(),
        "set_rng_state": lambda new_state, device=None: rng.set_state(new_state),
        "get_rng_state_all": lambda: [rng.get_state()],
        "set_rng_state_all": lambda new_states: rng.set_state(new_states[0]),
        "default_generators": (rng,),
        "CUDAGraph": CUDAGraph,
        "graph": _GraphContext,
        **dict.fromkeys(("make_graphed_callables", "graph_pool_handle"), _no_graphs),
        "is_current_stream_capturing": lambda: False,
    }


def _of_its_own(name: str, value: Any) -> Any:
    """A function of its own for each name: torch's compiler and `Rebinder.restore` tell names apart by their object."""
    if not isinstance(value, FunctionType):
        return value
    # A copy, not a wrapper: `_no_stand_in` names its caller.
    copy = FunctionType(value.__code__, value.__globals__, name, value.__defaults__, value.__closure__)
    copy.__kwdefaults__ = value.__kwdefaults__
    return copy


_NVTX = ("range_push", "range_pop", "range_start", "range_end", "mark")


def _is_program(module_name: str) -> bool:
    """Torch's own modules keep their names, but for those that programs reach `torch.cuda` by."""
    return not module_name.startswith("torch.") or module_name == "torch.cuda" or module_name.startswith("torch.cuda.")


def install(gpu: Callable[[], Gpu]) -> Rebinder:
    """Stand in for torch's CUDA. `restore` of the result, and `torch_tensors.disable`, undo it."""
    rebinder = Rebinder()
    pairs = []
    for name, value in _stand_ins(gpu).items():
        if hasattr(torch.cuda, name):
            stand_in = _of_its_own(name, value)
            pairs.append((getattr(torch.cuda, name), stand_in))
            rebinder.set_attribute(torch.cuda, name, stand_in)
    for name in torch.cuda.__all__:
        original = getattr(torch.cuda, name, None)
        if isinstance(original, FunctionType) and original.__module__.startswith("torch.cuda"):
            stand_in = _missing(name)
            pairs.append((original, stand_in))
            rebinder.set_attribute(torch.cuda, name, stand_in)
    pairs.append((torch.Generator, _Generator))
    rebinder.replace_all(pairs, _is_program)
    for name in _NVTX:
        rebinder.set_attribute(torch.cuda.nvtx, name, _nothing)
    rebinder.set_attribute(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
    rebinder.set_attribute(torch.version, "cuda", torch.version.cuda or "13.0")
    _redirect_autocast(rebinder)
    _follow_backward(rebinder)
    torch_tensors.enable()
    return rebinder


def _redirect_autocast(rebinder: Rebinder) -> None:
    """`torch.autocast("cuda")` casts on the CPU, to the type that it would cast to on a GPU."""
    autocast = torch.amp.autocast_mode.autocast
    original = autocast.__init__

    def __init__(self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        original(self, device_type, dtype, *args, **kwargs)

    rebinder.set_attribute(autocast, "__init__", __init__)


def _follow_backward(rebinder: Rebinder) -> None:
    """Intercept what the autograd engine calls: torch has no extension point there, this is its one door."""
    original = getattr(torch.autograd.graph, "_engine_run_backward", None)
    if original is None:
        return

    def run_backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
        with torch_tensors.backward_pass(roots):
            return original(roots, *args, **kwargs)

    rebinder.replace(original, run_backward)
