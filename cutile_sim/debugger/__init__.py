"""The debugger: observers of a launch that follow one block through its Python source.

    from cutile_sim import debug
    with debug(kernel, grid, *args, block=(1, 2)) as session:
        session.step()

What it does is in docs/debugger.md, how it is built in docs/internals.md.
"""

from __future__ import annotations

from cutile_sim.debugger.breakpoints import Breakpoint
from cutile_sim.debugger.session import Session
from cutile_sim.debugger.stops import Stop, recorders
from cutile_sim.debugger.subject import Subject, make_subject
from cutile_sim.debugger.view import Here

__all__ = ["Breakpoint", "Here", "Session", "Stop", "Subject", "make_subject", "recorders"]
