"""A launch's parameters as a proof sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cutile_sim.errors import UsageError
from cutile_sim.frontend.arrays import ArrayArg
from cutile_sim.frontend.params import LaunchParam, ListBuffer, PointerParam, ScalarParam
from cutile_sim.overlap import is_same, share
from cutile_sim.proofs.sizes import Names
from ir_passes.symbolic import NOTHING, Pointers, Poly, Root
from ir_passes.symbolic.conditions import ALWAYS, NEVER
from ir_passes.symbolic.members import members_root
from ir_passes.symbolic.values import Followed, Members


def parameters(
    params: list[LaunchParam], flat_names: tuple[str, ...], sizes: Mapping[str, Any], names: Names
) -> list[Followed]:
    """What each flat parameter of a launch is to a proof. Raises UsageError for sizes of nothing."""
    sharing = _Sharing(params, sizes)
    roots: dict[tuple[object, ...], Root] = {}
    found: list[Followed] = []
    lengths: list[Poly] = []
    used = set()
    for param in params:
        if isinstance(param, PointerParam):
            array = param.array
            shape, strides = tuple(map(Poly.of, array.shape)), tuple(map(Poly.of, array.strides_elems))
            if array.name in sizes:
                used.add(array.name)
                shape, strides = _replaced(array.name, sizes[array.name], len(array.shape), names)
                lengths = [*shape, *strides]
            place = (array.address, shape, strides, array.element.size_bytes)
            root = Root(
                array.name,
                shape,
                strides,
                array.element.size_bytes,
                len(found),
                _alignment(array),
                shared_with=sharing.others(array),
                same_as=roots.get(place),
            )
            roots.setdefault(place, root)
            found.append(Pointers(root, Poly.of(0)))
        elif isinstance(param, ListBuffer):
            words, own = Poly.of(len(param.words)), _members(param, sharing)
            buffer = Root("the list of arrays", (words,), (Poly.of(1),), 8, len(found), 8, members=own)
            found.append(Pointers(buffer, Poly.of(0)))
        else:
            found.append(lengths.pop(0) if lengths else _scalar(param))
    for name, value in sizes.items():
        position = flat_names.index(name) if name in flat_names else None
        if position is not None and isinstance(found[position], Poly):
            found[position] = names.term(value)
        elif name not in used:
            raise UsageError(f"no array and no integer parameter is called {name!r}")
    return found


class _Sharing:
    """Which arguments lie in the same memory. A list of arrays goes by its name."""

    def __init__(self, params: Sequence[LaunchParam], sizes: Mapping[str, Any]) -> None:
        self.sizes = sizes
        self.names: list[tuple[str, ArrayArg, bool]] = []
        for param in params:
            if isinstance(param, PointerParam):
                self.names.append((param.array.name, param.array, False))
            elif isinstance(param, ListBuffer):
                self.names += [(list_name(param), array, True) for array in arrays_of(param)]

    def others(self, array: ArrayArg, *, in_list: bool = False) -> frozenset[str]:
        """Names of the other arguments that partly lie in an array's memory: none that is the same array."""
        return frozenset(
            name
            for name, other, listed in self.names
            if other is not array
            and (in_list or listed or not self._is_same(other, array))
            and share(other, array, if_unknown=True)
        )

    def _is_same(self, a: ArrayArg, b: ArrayArg) -> bool:
        return is_same(a, b) and a.element is b.element and self.sizes.get(a.name) == self.sizes.get(b.name)


def arrays_of(buffer: ListBuffer) -> list[ArrayArg]:
    """The arrays of a list."""
    return [word for word in buffer.words if not isinstance(word, int)]


def list_name(buffer: ListBuffer) -> str:
    """The parameter that a list is: its arrays are called `xs[0]` and so on."""
    own = arrays_of(buffer)
    return own[0].name.rpartition("[")[0] if own else "a list of no arrays"


def _members(param: ListBuffer, sharing: _Sharing) -> Members | None:
    """The arrays of a list; None for an empty one."""
    own = arrays_of(param)
    if not own:
        return None
    return members_root(
        list_name(param),
        tuple(a.shape for a in own),
        tuple(a.strides_elems for a in own),
        own[0].element.size_bytes,
        min(_alignment(a) for a in own),
        shared_with=frozenset[str]().union(*(sharing.others(a, in_list=True) for a in own)),
    )


def _alignment(array: ArrayArg) -> int:
    """The largest power of two that divides an address, up to that of a page."""
    return min(array.address & -array.address, 1 << 12) if array.address else 1 << 12


def idle_strides(params: list[LaunchParam]) -> frozenset[int]:
    """Positions of strides along axes of one element: a launch does not look whether they keep what is promised."""
    found = set()
    for position, param in enumerate(params):
        if isinstance(param, PointerParam):
            shape = param.array.shape
            found |= {position + 1 + len(shape) + d for d, n in enumerate(shape) if n == 1}
    return frozenset(found)


def _scalar(param: ScalarParam) -> Followed:
    if not param.element.is_integer:
        return NOTHING
    if param.element.width_bits == 1:
        return ALWAYS if param.value else NEVER
    return Poly.of(int(param.value))


def _replaced(name: str, shape: Any, ndim: int, names: Names) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
    parts = (shape,) if isinstance(shape, (int, str)) else tuple(shape)
    if len(parts) != ndim:
        raise UsageError(f"array {name!r} has {ndim} dimensions, but a shape of {len(parts)} is given for it: {parts}")
    terms = [names.term(p) for p in parts]
    strides: list[Poly] = []
    reach = Poly.of(1)
    for length in reversed(terms):
        strides.insert(0, reach)
        reach = reach * length
    return tuple(terms), tuple(strides)
