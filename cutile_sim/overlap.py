"""Whether outputs of a launch share memory: what a GPU would answer with values that depend on timing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from cutile_sim.errors import UsageError
from cutile_sim.frontend.arrays import ArrayArg
from cutile_sim.memory.space import HostMemory, Overlap

EXACT_WORK = 100_000
"""How hard to look for a shared element of two interleaved arrays before taking them for separate."""


def check_outputs(arrays: Sequence[tuple[ArrayArg, bool]]) -> list[Overlap]:
    """Judge the array arguments of a launch, each with whether the kernel writes it. Returns what to warn of.

    Raises UsageError for two outputs that share memory, and for an output whose own elements do.
    """
    warnings = []
    for i, (array, written) in enumerate(arrays):
        if not written:
            continue
        if _repeats_elements(array.shape, array.strides_elems):
            raise UsageError(
                f"output '{array.name}' has several elements in one place of memory (shape {array.shape}, strides "
                f"{array.strides_elems}): which of them stays is left to chance; pass a copy"
            )
        for j, (other, other_written) in enumerate(arrays):
            if j == i or (other_written and j < i) or not share(array, other):
                continue
            if other_written:
                raise UsageError(
                    f"outputs '{array.name}' and '{other.name}' share memory: which of them stays is left to chance; "
                    "pass arrays that do not overlap"
                )
            if not is_same(array, other):
                warnings.append(Overlap(array.name, other.name))
    return warnings


def is_same(a: ArrayArg, b: ArrayArg) -> bool:
    """Whether two arguments are one array."""
    return (a.address, a.shape, a.strides_elems) == (b.address, b.shape, b.strides_elems)


def share(a: ArrayArg, b: ArrayArg, *, if_unknown: bool = False) -> bool:
    """Whether two arrays have a byte of memory in common; `if_unknown` where that is hard to tell."""
    if a.address + a.span_bytes <= b.address or b.address + b.span_bytes <= a.address:
        return False
    try:
        return np.shares_memory(_as_array(a), _as_array(b), max_work=EXACT_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return if_unknown


def _as_array(array: ArrayArg) -> np.ndarray:
    memory = np.asarray(HostMemory(array.address, array.span_bytes, False, array.keepalive))
    item = array.element.size_bytes
    return np.ndarray(
        (*array.shape, item),
        np.uint8,
        buffer=memory,  # type: ignore[arg-type]
        strides=(*(s * item for s in array.strides_elems), 1),
    )


@lru_cache(maxsize=4096)
def _repeats_elements(shape: tuple[int, ...], strides_elems: tuple[int, ...]) -> bool:
    """Whether two indices meet in one element. Taken as no where strides do not nest and indices are too many."""
    axes = sorted((s, n) for s, n in zip(strides_elems, shape, strict=True) if n != 1)
    count = math.prod(shape)
    if count < 2 or axes[0][0] == 0:
        return count > 1
    if all(s >= inner_s * inner_n for (inner_s, inner_n), (s, _) in pairwise(axes)) or count > EXACT_WORK:
        return False
    places = np.zeros(1, np.int64)
    for stride_elems, length in axes:
        places = np.add.outer(places, np.arange(length) * stride_elems).ravel()
    return np.unique(places).size < count
