"""Parts of terms: the atoms of a polynomial through its quotients, and what a product is without some factors."""

from __future__ import annotations

from ir_passes.symbolic.terms import Atom, Monomial, Poly, Quotient


def nested_atoms(poly: Poly) -> set[Atom]:
    """The atoms of a polynomial, and those that its quotients are made of."""
    found: set[Atom] = set()
    open_ends = [poly]
    while open_ends:
        for atom in open_ends.pop().atoms - found:
            found.add(atom)
            if isinstance(atom, Quotient):
                open_ends += [atom.top, atom.bottom]
    return found


def without_factors(product: Monomial, factors: Monomial) -> Monomial | None:
    """What is left of a product when factors are taken out; None where it has not all of them."""
    rest = list(product)
    for atom in factors:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)
