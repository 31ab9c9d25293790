"""`cupy.cuda` streams and events. Work has ended when its call returns, so that none of them ever waits."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

# Handles of a real GPU's default streams are 0, 1 and 2; ours lie beyond.
_handles = itertools.count(0x1000, 0x10)
_local = threading.local()


class Event:
    """A point in time. Attributes: ptr."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.ptr = next(_handles)
        self._disable_timing = disable_timing
        self._seconds: float | None = None

    @property
    def done(self) -> bool:
        return True

    def record(self, stream: Any = None) -> None:
        self._seconds = time.perf_counter()

    def synchronize(self) -> None:
        pass


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two recorded events: the simulator's time, not a GPU's."""
    if start_event._seconds is None or end_event._seconds is None:
        raise ValueError("both events must have been recorded")
    if start_event._disable_timing or end_event._disable_timing:
        raise ValueError("an event with disable_timing=True has no time")
    return (end_event._seconds - start_event._seconds) * 1e3


class BaseStream:
    """What streams have in common. Attributes: ptr, device_id."""

    def __init__(self, ptr: int, device_id: int = 0) -> None:
        self.ptr, self.device_id = ptr, device_id
        self._outer: list[BaseStream] = []

    @property
    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def use(self) -> BaseStream:
        _local.stream = self
        return self

    def record(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        pass

    def launch_host_func(self, callback: Callable[[Any], object], arg: Any) -> None:
        callback(arg)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def __enter__(self) -> BaseStream:
        self._outer.append(get_current_stream())
        return self.use()

    def __exit__(self, *exception: object) -> None:
        self._outer.pop().use()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, BaseStream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"


class Stream(BaseStream):
    """A stream of its own, or the default one with `null=True` or `ptds=True`."""

    null: Stream
    ptds: Stream

    def __init__(
        self,
        null: bool = False,
        non_blocking: bool = False,
        ptds: bool = False,
        priority: int | None = None,
    ) -> None:
        super().__init__(0 if null else 2 if ptds else next(_handles))
        self.non_blocking, self.priority = non_blocking, priority or 0


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


class ExternalStream(BaseStream):
    """A stream that somebody else made."""


def get_current_stream(device_id: int = -1) -> BaseStream:
    """The current stream of this thread."""
    return getattr(_local, "stream", Stream.null)
