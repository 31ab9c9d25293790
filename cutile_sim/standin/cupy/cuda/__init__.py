"""`cupy.cuda`: the simulated GPU, its streams, events and memory."""

from __future__ import annotations

from typing import Any

from cutile_sim.standin.cupy.cuda import runtime
from cutile_sim.standin.cupy.cuda.device import Device, get_device_id
from cutile_sim.standin.cupy.cuda.memory import (
    Memory,
    MemoryPointer,
    MemoryPool,
    PinnedMemoryPool,
    UnownedMemory,
    alloc,
)
from cutile_sim.standin.cupy.cuda.stream import Event, ExternalStream, Stream, get_current_stream, get_elapsed_time
from cutile_sim.standin.cupy.missing import missing_attribute


def is_available() -> bool:
    """Whether there is a GPU: the simulated one."""
    return True


def synchronize() -> None:
    """Nothing: a launch has ended when it returns."""


def __getattr__(name: str) -> Any:
    raise missing_attribute("cupy.cuda", name)


__all__ = [
    "Device",
    "Event",
    "ExternalStream",
    "Memory",
    "MemoryPointer",
    "MemoryPool",
    "PinnedMemoryPool",
    "Stream",
    "UnownedMemory",
    "alloc",
    "get_current_stream",
    "get_device_id",
    "get_elapsed_time",
    "is_available",
    "runtime",
    "synchronize",
]
