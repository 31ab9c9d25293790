"""Accesses outside arrays: noted, and their lanes left out, so that one launch shows them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.context import Context
from cutile_sim.errors import KernelError, MisalignedError
from cutile_sim.memory.access import NEVER_SET, LaneFault, describe_place
from cutile_sim.memory.space import Extent
from cutile_sim.ops.windows import Edge, Window
from cutile_sim.sanitize.lanes import counting, lane_addresses, windows_of
from cutile_sim.sanitize.watch import BATCH_AXES, Check, Watch, first_position


class Bounds(Check):
    """CTS101: an access outside its array. CTS102: a tile outside, whose bounds check was turned off. CTS103: one
    that is not aligned.
    """

    name = "bounds"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        watch.cx.space.tolerate = self._note
        crowded = [e for a, _ in watch.cx.space.extents() if len(a.extents) > 1 for e in a.extents]
        self.own = {op: e for op in watch.roots if (e := watch.array_of(op)) is not None and e in crowded}

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        """Look for lanes that leave the array they go through, but lie in another one in the same memory."""
        op = cx.op
        extent = self.own.get(op) if op is not None else None
        if op is None or extent is None:
            return
        if isinstance(place, (Window, Edge)) and all(_is_within(w, extent) for w in windows_of(place)):
            return
        allocation = next(a for a, e in self.watch.cx.space.extents() if e is extent)
        addresses, lanes = lane_addresses(place), counting(place, mask)
        offsets = addresses - allocation.address
        others = [e for e in allocation.extents if e is not extent]
        bad = ~extent.holds(offsets) & np.logical_or.reduce([e.holds(offsets) for e in others])
        if lanes is not None:
            bad = bad & lanes
        if not bad.any():
            return
        at = first_position(bad)
        offset = int(np.broadcast_to(offsets, bad.shape)[at])
        verb = "load" if op.spec.effect == "read" else "store" if op.spec.effect == "write" else "atomic update"
        inside = next(e for e in others if e.holds(np.array(offset)))
        self.watch.report(
            "CTS101",
            "error",
            f"{verb} outside the array it is meant for: {describe_place(extent, offset)}, in memory of '{inside.name}'",
            op,
            block=self.watch.block_at(at),
            lane=at[BATCH_AXES:],
            array=extent.name,
            count=int(np.count_nonzero(bad)),
        )

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        self.loaded(place, mask, element, cx)

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


def _is_within(window: Window, extent: Extent) -> bool:
    """Whether a window lies between the first and the last element of an array: its tiles have the array's strides."""
    reach = [(n - 1) * s * window.element.size_bytes for n, s in zip(window.shape, window.strides_elems, strict=True)]
    first = window.offset_bytes + sum(min(0, r) for r in reach)
    end = window.offset_bytes + sum(max(0, r) for r in reach) + window.element.size_bytes
    return extent.first_byte <= first and end <= extent.end_byte
