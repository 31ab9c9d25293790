"""Things that a thread needs before its own code runs, in threads that are started from now on."""

from __future__ import annotations

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
