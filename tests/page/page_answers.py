"""Reads what answers hold, and what they should hold."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from cutile_sim.traces import LaunchTrace

TYPES = {"u1": np.uint8, "u4": np.uint32, "i4": np.int32, "f4": np.float32, "f8": np.float64}


def unpack(found: dict[str, str], shape: Any = -1) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(found["packed"])), TYPES[found["type"]]).reshape(shape)


def touches(launch: LaunchTrace, array: str) -> list[tuple[int, str, int, tuple[int, int, int], int]]:
    """(record, kind, line, block, number of the element in C order), one a lane."""
    info = launch.array(array)
    found = []
    for record in launch.records(names=(array,)):
        line = record.op.location.line if record.op.location else 0
        for access in record.accesses:
            for which, block in enumerate(record.group.blocks.tolist()):
                if access.array is info and access.takes_part(which):
                    for element in access.elements(which).ravel().tolist():
                        found.append((record.number, record.kind, line, tuple(block), element))
    return found
