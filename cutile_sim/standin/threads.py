"""Things that a thread needs before its own code runs, in threads to come and in those that run already."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from cutile_sim.standin.rebind import Rebinder


def at_thread_start(rebinder: Rebinder, enter: Callable[[], None], leave: Callable[[], None]) -> None:
    """Call `enter` first and `leave` last in each thread that `threading.Thread.start` starts, until the restore."""
    original = threading.Thread.start

    def start(self: threading.Thread) -> None:
        run: Any = self.run

        def run_inside() -> None:
            enter()
            try:
                run()
            finally:
                leave()

        self.run = run_inside  # type: ignore[method-assign]
        try:
            original(self)
        except BaseException:
            del self.run
            raise

    rebinder.set_attribute(threading.Thread, "start", start)


def in_running_threads(enter: Callable[[], None]) -> None:
    """Call `enter` in each other thread that runs already, as soon as it runs Python code again.

    By a profile function that takes itself off, from Python 3.12 on: before, there is no way to set one in another
    thread. Nothing is done where a profiler is at work, whose own function it would replace.
    """
    if not hasattr(threading, "setprofile_all_threads") or threading.getprofile() or sys.getprofile():
        return

    here = threading.get_ident()

    def enter_once(frame: Any, event: str, argument: Any) -> None:
        sys.setprofile(None)
        if threading.get_ident() != here:
            enter()

    threading.setprofile_all_threads(enter_once)
    threading.setprofile(None)  # not in threads to come
