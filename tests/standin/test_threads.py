"""What threads do before their own code."""

from __future__ import annotations

import sys
import threading

import pytest

from cutile_sim.standin.rebind import Rebinder
from cutile_sim.standin.threads import at_thread_start, in_running_threads


def test_threads_to_come() -> None:
    seen: list[str] = []
    rebinder = Rebinder()
    at_thread_start(rebinder, lambda: seen.append("enter"), lambda: seen.append("leave"))
    try:
        thread = threading.Thread(target=lambda: seen.append("run"))
        thread.start()
        thread.join()
    finally:
        rebinder.restore()
    assert seen == ["enter", "run", "leave"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no way to set a profile function in another thread")
def test_threads_that_run_already() -> None:
    entered: list[int] = []
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        sum(range(3))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    in_running_threads(lambda: entered.append(threading.get_ident()))
    go.set()
    done.wait()
    thread.join()
    assert entered == [thread.ident]
    assert threading.getprofile() is None and sys.getprofile() is None


def test_a_profiler_stays() -> None:
    def profile(frame: object, event: str, argument: object) -> None:
        """Nothing."""

    sys.setprofile(profile)
    try:
        in_running_threads(lambda: None)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
