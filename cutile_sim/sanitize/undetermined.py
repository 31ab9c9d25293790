"""Undetermined values: where they come from, and where they reach what counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.context import Context
from cutile_sim.engine.group import UNSET
from cutile_sim.engine.values import TileView
from cutile_sim.memory.space import Allocation
from cutile_sim.ops.windows import Edge, Lanes
from cutile_sim.sanitize.lanes import counting, lane_addresses
from cutile_sim.sanitize.shadows import (
    DOUBTFUL,
    PADDED,
    UNDEFINED,
    UNDETERMINED,
    Rule,
    clean,
    clean_of,
)
from cutile_sim.sanitize.watch import BATCH_AXES, Check, Event, Handler, Watch, first_position
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import PaddingValue, TileType

_STORED = {"store_view_tko": "tile", "store_ptr_tko": "value", "atomic_red_view_tko": "value"}
_STORED |= {"atomic_rmw_tko": "arg", "atomic_cas_tko": "val"}
_POINTERS = {"load_ptr_tko": "source", "store_ptr_tko": "destination"}
_POINTERS |= {"atomic_rmw_tko": "pointers", "atomic_cas_tko": "pointers"}
_REACHED = {
    "CTS301": "is stored",
    "CTS302": "decides which way the kernel goes",
    "CTS303": "is used as an address, an index or a mask",
    "CTS304": "is printed or asserted",
}

MOST_ORIGINS = 3
"""So many places are named that an undetermined value may come from."""


class Undetermined(Check):
    """CTS301 to CTS304: an undetermined value is stored, decides a branch, is an address, is printed. CTS501 to CTS504,
    for results of undefined arithmetic, where `Arithmetic` marks them.
    """

    name = "undetermined"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.place: Any = None
        self.mask: np.ndarray | None = None
        self.memory: dict[Allocation, np.ndarray] = {}
        self.scratch: set[Allocation] = set()
        self.clean: dict[int, np.ndarray] = {}
        for op in watch.ops:
            for value in (*op.results, *(a for r in op.regions for a in r.arguments)):
                if (none := clean_of(value)) is not None:
                    self.clean[value.index] = none
        for allocation, extent in watch.cx.space.extents():
            if extent.name in watch.options.uninitialised:
                state = self.memory.setdefault(allocation, np.zeros(allocation.size_bytes, np.uint8))
                state[extent.first_byte : extent.end_byte] = UNDETERMINED

    # Where shadows come from

    def before_of(self, op: Op) -> Handler | None:
        if op.name in ("print_tko", "assert"):
            return self._printing
        if op.name in ("make_tensor_view", "extract", "insert"):
            return self._placing
        if op.name in ("load_view_tko", "store_view_tko", "atomic_red_view_tko") or op.name in _POINTERS:
            return self._accessing
        return None

    def after_of(self, op: Op) -> Handler | None:
        if op.name == "load_view_tko":
            return self._loaded_view
        if op.name == "load_ptr_tko":
            return self._loaded_pointers
        if op.name == "alloca":
            return self._allocated
        if any(isinstance(v.type, TileType) for v in op.results):
            if op.name in ("atomic_rmw_tko", "atomic_cas_tko"):
                return self._updated
            return Rule(op, self.watch.shadow)
        return None

    def moved(self, sources: list[int], targets: list[int], slots: list[Any], cx: Context) -> None:
        shadow, none = self.watch.shadow, self.clean
        known = [slots[shadow + i] for i in sources]
        for i, value in zip(targets, known, strict=True):
            slots[shadow + i] = none.get(i, UNSET) if value is UNSET else value

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        self.place, self.mask = place, mask

    def _loaded_view(self, op: Op, slots: list[Any], cx: Context) -> None:
        result, place = op.results[0], self.place
        shadow = clean(result.type.shape)  # type: ignore[union-attr]
        if isinstance(place, Edge) or (isinstance(place, Lanes) and place.valid is not None):
            view = op.operands["view"]
            assert isinstance(view, Value)
            bits = PADDED
            if view.type.padding is PaddingValue.MISSING:  # type: ignore[union-attr]
                bits = PADDED | UNDETERMINED
            lanes = counting(place, None)
            assert lanes is not None
            if not lanes.all():
                if op.attributes["inbounds"] and any(op.attributes["inbounds"]):
                    bits = PADDED  # such lanes were found by `Bounds` already
                shadow = np.where(lanes, np.uint8(0), bits)
                if bits & UNDETERMINED:
                    self._begin(op, slots[view.index], ~lanes)
        if self.memory:
            shadow = self._with_memory(op, shadow)
        slots[self.watch.shadow + result.index] = shadow

    def _begin(self, op: Op, view: TileView, outside: np.ndarray) -> None:
        base = view.tensor.base
        address = int(base if isinstance(base, int) else base.flat[0])
        array, allocation = self.watch.array_at(address), self.watch.cx.space.find(address)
        what = f"array '{array}'" if array else f"the {allocation.name}" if allocation is not None else "the view"
        self.watch.begin(
            "CTS301",
            int(UNDETERMINED),
            op,
            f"lanes outside {what}, loaded without a padding value,",
            first_position(outside),
        )

    def _loaded_pointers(self, op: Op, slots: list[Any], cx: Context) -> None:
        result = op.results[0]
        shadow = clean(result.type.shape)  # type: ignore[union-attr]
        if self.mask is not None:
            padding = op.operands["padding_value"]
            if padding is None:
                bits: Any = PADDED | UNDETERMINED
                self.watch.begin(
                    "CTS301",
                    int(UNDETERMINED),
                    op,
                    "lanes that are masked off without a padding value",
                    first_position(~self.mask),
                )
            else:
                assert isinstance(padding, Value)
                bits = self._shadow_of(padding, slots) | PADDED
            shadow = np.where(self.mask, np.uint8(0), bits)
        if self.memory:
            shadow = self._with_memory(op, shadow)
        slots[self.watch.shadow + result.index] = shadow

    def _updated(self, op: Op, slots: list[Any], cx: Context) -> None:
        result = op.results[0]
        slots[self.watch.shadow + result.index] = clean(result.type.shape)  # type: ignore[union-attr]

    def _allocated(self, op: Op, slots: list[Any], cx: Context) -> None:
        allocation = cx.group.scratch[-1]
        self.memory[allocation] = np.full(allocation.size_bytes, UNDETERMINED, np.uint8)
        self.scratch.add(allocation)
        result = op.results[0]
        slots[self.watch.shadow + result.index] = clean(result.type.shape)  # type: ignore[union-attr]

    def _with_memory(self, op: Op, shadow: np.ndarray) -> np.ndarray:
        """The shadow of a load, with that of the memory it reads."""
        addresses = lane_addresses(self.place)
        lanes = counting(self.place, self.mask)
        for allocation, state in self.memory.items():
            offsets = addresses - allocation.address
            here = (offsets >= 0) & (offsets < state.size)
            if lanes is not None:
                here &= lanes
            if here.any():
                found = np.where(here, state[np.where(here, offsets, 0)], np.uint8(0))
                if found.any():
                    name = self.watch.array_at(allocation.address) or allocation.name
                    self.watch.begin(
                        "CTS301",
                        int(UNDETERMINED),
                        op,
                        f"elements of '{name}' that nothing has written",
                        first_position(found != 0),
                    )
                    shadow = shadow | found
        return shadow

    # Where shadows matter

    def _shadow_of(self, value: Value, slots: list[Any]) -> np.ndarray:
        known = slots[self.watch.shadow + value.index]
        return clean(value.type.shape) if known is UNSET else known  # type: ignore[union-attr]

    def _is_clean(self, value: Value, slots: list[Any]) -> bool:
        known = slots[self.watch.shadow + value.index]
        return known is UNSET or known is self.clean.get(value.index)

    def _reach(self, id: str, op: Op, values: list[Value], slots: list[Any], lanes: np.ndarray | None) -> None:
        """Report values that are doubtful in lanes that count."""
        for value in values:
            if self._is_clean(value, slots):
                continue
            bad = self._shadow_of(value, slots) & DOUBTFUL
            if lanes is not None:
                bad = np.where(lanes, bad, np.uint8(0))
            if not bad.any():
                continue
            for bit in (UNDEFINED, UNDETERMINED):
                if (bad & bit).any():
                    self._report(id, int(bit), op, value, (bad & bit) != 0)

    def _report(self, id: str, bit: int, op: Op, value: Value, bad: np.ndarray) -> None:
        events = list(islice(self.watch.events_behind([value], bit), MOST_ORIGINS))
        position = first_position(bad)
        block, lane = self.watch.block_at(position), position[BATCH_AXES:]
        repeats = 1 if self.watch.cx.group is None else self.watch.cx.repeats(bad.shape)
        count = int(np.count_nonzero(bad)) * repeats
        if bit == UNDEFINED:
            event = events[0]
            self.watch.report(
                event.id,
                "error",
                f"{event.message}, and what comes of it {_REACHED[id]}",
                event.op,
                block=event.block,
                lane=event.lane,
                related=((f"it {_REACHED[id]}", op.location),),
                count=count,
            )
            return
        self.watch.report(
            id,
            "error",
            f"an undetermined value {_REACHED[id]}" + _origins(events),
            op,
            block=block,
            lane=lane,
            related=[("or from" if i else "it comes from", event.op.location) for i, event in enumerate(events)],
            count=count,
        )

    def branched(self, op: Op, condition: np.ndarray, cx: Context) -> None:
        values = [op.inputs[0]] if op.name == "if" else []
        if op.name == "for":
            values = [v for n in ("lower_bound", "upper_bound", "step") if isinstance(v := op.operands[n], Value)]
        self._reach("CTS302", op, values, cx.group.slots, None)

    def _printing(self, op: Op, slots: list[Any], cx: Context) -> None:
        self._reach("CTS304", op, [v for v in op.inputs if isinstance(v.type, TileType)], slots, None)

    def _placing(self, op: Op, slots: list[Any], cx: Context) -> None:
        scalars = [v for v in op.inputs if isinstance(v.type, TileType) and v.type.shape == ()]
        self._reach("CTS303", op, scalars, slots, None)

    def _accessing(self, op: Op, slots: list[Any], cx: Context) -> None:
        """Indices, pointers and masks of an access. Pointers that are masked off do not matter."""
        index = op.operands.get("index")
        if isinstance(index, tuple):
            self._reach("CTS303", op, list(index), slots, None)
        pointers, mask = op.operands.get(_POINTERS.get(op.name, "")), op.operands.get("mask")
        if isinstance(mask, Value):
            self._reach("CTS303", op, [mask], slots, None)
        if isinstance(pointers, Value):
            self._reach("CTS303", op, [pointers], slots, slots[mask.index] if isinstance(mask, Value) else None)

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        op = cx.op
        assert op is not None
        value = op.operands[_STORED[op.name]]
        assert isinstance(value, Value)
        slots = cx.group.slots
        dirty = not self._is_clean(value, slots)
        if not dirty and not self.memory:
            return
        lanes = counting(place, mask)
        if self.memory and self._into_memory(place, lanes, self._shadow_of(value, slots)):
            return
        if dirty:
            self._reach("CTS301", op, [value], slots, lanes)

    def _into_memory(self, place: Any, lanes: np.ndarray | None, shadow: np.ndarray) -> bool:
        """Pass a shadow on to memory whose shadow is kept. Returns whether it is memory of the block's own."""
        addresses = lane_addresses(place)
        spread = np.broadcast_to(shadow, np.broadcast_shapes(addresses.shape, shadow.shape))
        own = False
        for allocation, state in self.memory.items():
            offsets = np.broadcast_to(addresses - allocation.address, spread.shape)
            here = (offsets >= 0) & (offsets < state.size)
            if lanes is not None:
                here = here & lanes
            if here.any():
                state[offsets[here]] = spread[here] & DOUBTFUL
                own = own or allocation in self.scratch
        return own


def _origins(events: Sequence[Event]) -> str:
    """Where a value may come from, in words."""
    words = list(dict.fromkeys(event.message.rstrip(",") for event in events))
    return f": it comes from {', or from '.join(words)}" if words else ""
