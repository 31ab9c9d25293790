"""What the installed .pth file calls when Python starts with CUTILE_SIM set: stand-ins in any process, unasked."""

from __future__ import annotations

import os
import sys


def activate() -> None:
    """Install the stand-ins that the environment asks for. Never ends the process: Python ignores a failing .pth line.

    CUTILE_SIM=1 asks for them, CUTILE_SIM=force also where a real GPU is present; CUTILE_SIM_ARCH names the GPU. If
    CUTILE_SIM is empty or 0, nothing is asked for.
    """
    # Kept out of the top: the .pth file is read by every Python process, and most import neither torch nor cuda.tile.
    from cutile_sim.errors import UsageError
    from cutile_sim.standin import activation

    word = os.environ.get(activation.VARIABLE, "")
    if word in ("", "0"):
        return
    try:
        activation.install(os.environ.get(activation.ARCH_VARIABLE) or None, force=word == activation.FORCE)
    except UsageError as error:
        print(f"cutile_sim: {activation.VARIABLE} has no effect: {error}", file=sys.stderr)
