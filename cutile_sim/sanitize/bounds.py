"""Accesses outside arrays: noted, and their lanes left out, so that one launch shows them all."""

from __future__ import annotations

import numpy as np

from cutile_sim.errors import KernelError, MisalignedError
from cutile_sim.memory.access import NEVER_SET, LaneFault
from cutile_sim.sanitize.watch import Check, Watch


class Bounds(Check):
    """CTS101: an access outside its array. CTS102: a tile outside, whose bounds check was turned off. CTS103: one
    that is not aligned.
    """

    name = "bounds"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        watch.cx.space.tolerate = self._note

    def _note(self, fault: LaneFault, bad: np.ndarray, address: int | None) -> None:
        """A fault that the engine would stop at; its lanes `bad` are left out instead."""
        watch = self.watch
        if address == NEVER_SET and "undetermined" in watch.options.checks:
            return  # found as an undetermined address
        watch.report(
            self._id_of(fault.error_class, address),
            "error",
            fault.reason,
            watch.cx.op,
            block=watch.block_at(fault.position),
            lane=fault.position[3:],
            array=None if address is None else watch.array_at(address),
            count=int(np.count_nonzero(bad)),
        )

    @staticmethod
    def _id_of(kind: type[KernelError], address: int | None) -> str:
        if issubclass(kind, MisalignedError):
            return "CTS103"
        return "CTS102" if address is None else "CTS101"
