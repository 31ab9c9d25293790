"""Arrays in lists: which array a word of the list's buffer belongs to, and what it says.

All arrays of a list are one root with a dimension more, the position in the list. It has a stride that no array
reaches, so that the indices of an element tell which array it is in.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from ir_passes.symbolic.conditions import choice, equal
from ir_passes.symbolic.terms import Poly, Symbol
from ir_passes.symbolic.values import Members, Pointers, Root, Words

APART_ITEMS = 1 << 42
"""How far apart the arrays of a list are taken to stand."""
MAX_CHOICES = 3
"""From more arrays that differ, a length is known within bounds, and by what divides all of them."""


def members_root(
    name: str,
    shapes: tuple[tuple[int, ...], ...],
    strides_elems: tuple[tuple[int, ...], ...],
    item_bytes: int,
    alignment_bytes: int,
    *,
    shared_with: frozenset[str],
) -> Members:
    """The arrays of a list. Where shapes or strides differ, the root's are those of the first."""
    shape = (Poly.of(len(shapes)), *map(Poly.of, shapes[0]))
    strides = (Poly.of(APART_ITEMS), *map(Poly.of, strides_elems[0]))
    root = Root(name, shape, strides, item_bytes, None, alignment_bytes, is_list=True, shared_with=shared_with)
    return Members(root, shapes, strides_elems)


def number_of(words: Words) -> Poly | None:
    """A length or a stride that was read from the buffer; None for a pointer, or where it is not known which it is."""
    found = _field(words)
    if found is None or found[1] == 0:
        return None
    member, at = found
    ndim = len(words.members.shapes[0])
    table = words.members.shapes if at <= ndim else words.members.strides_elems
    d = (at - 1) % ndim
    return _one_of(words.members, member, at, [row[d] for row in table])


def pointer_of(words: Words) -> Pointers | None:
    """The pointer to an array that was read from the buffer; None where it is no pointer."""
    found = _field(words)
    if found is None or found[1] != 0:
        return None
    members, member = words.members, found[0]
    key = ("root", member)
    if key not in members.known:
        ndim = len(members.shapes[0])
        lengths = [_one_of(members, member, 1 + d, [row[d] for row in members.shapes]) for d in range(ndim)]
        strides = [
            _one_of(members, member, 1 + ndim + d, [row[d] for row in members.strides_elems]) for d in range(ndim)
        ]
        members.known[key] = replace(
            members.root,
            name=members.root.name if member.value is None else f"{members.root.name}[{member}]",
            shape=(members.root.shape[0], *lengths),
            strides_elems=(members.root.strides_elems[0], *strides),
            same_as=members.root,
        )
    root: Root = members.known[key]
    return Pointers(root, member * (APART_ITEMS * root.item_bytes))


def _field(words: Words) -> tuple[Poly, int] | None:
    """Which array's word it is, and which of its words."""
    each = words.members.words_each
    if any(m and c % each for m, c in words.place.terms.items()):
        return None
    at = words.place.constant % each
    return Poly({m: c // each for m, c in words.place.terms.items()}), at


def _one_of(members: Members, member: Poly, at: int, numbers: list[int]) -> Poly:
    """The number of one array."""
    if len(set(numbers)) == 1:
        return Poly.of(numbers[0])
    if member.value is not None:
        return Poly.of(numbers[min(max(member.value, 0), len(numbers) - 1)])
    key = (at, member)
    if key not in members.known:
        if len(numbers) > MAX_CHOICES:
            why = f"a length or stride of one of {len(numbers)} arrays in {members.root.name}"
            by = gcd(*numbers) or 1
            length = Symbol("length", "unmodelled", min(numbers) // by, max(numbers) // by, why=why)
            members.known[key] = Poly.of(length) * by
        else:
            found = Poly.of(numbers[-1])
            for i, number in enumerate(numbers[:-1]):
                found = choice(equal(member, i), Poly.of(number), found)
            members.known[key] = found
    result: Poly = members.known[key]
    return result
