"""Accesses that are not aligned. cuTile writes none: these kernels are what another front-end may write."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

BYTES = ("ptr<i8>", "i32", "i32")
FLOATS = ("ptr<f32>", "i32", "i32")


def number(b, value):
    return b.op("Constant", result_type="i32", value=int(value).to_bytes(4, "little"))


def header(b, size_bytes):
    """A pointer to floats that lie behind so many bytes."""
    start = b.op("Offset", result_type="ptr<i8>", ptr=b.parameters[0], offset=number(b, size_bytes))
    return b.op("PtrToPtr", result_type="ptr<f32>", source=start)


def lanes(b, pointer):
    """Four pointers to neighbours."""
    one = b.op("Reshape", result_type="1xptr<f32>", source=pointer)
    same = b.op("Broadcast", result_type="4xptr<f32>", source=one)
    return b.op("Offset", result_type="4xptr<f32>", ptr=same, offset=b.op("Iota", result_type="4xi32"))


def load_behind_6_bytes(b):
    source, target = lanes(b, header(b, 6)), lanes(b, b.parameters[3])
    value, _ = b.op("LoadPtrTko", result_type="4xf32", source=source, paddingValue=None)  # BUG: CTS103
    b.op("StorePtrTko", destination=target, value=value)


def load_behind_8_bytes(b):
    source, target = lanes(b, header(b, 8)), lanes(b, b.parameters[3])
    value, _ = b.op("LoadPtrTko", result_type="4xf32", source=source, paddingValue=None)
    b.op("StorePtrTko", destination=target, value=value)


def store_behind_6_bytes(b):
    value, _ = b.op("LoadPtrTko", result_type="4xf32", source=lanes(b, b.parameters[3]), paddingValue=None)
    b.op("StorePtrTko", destination=lanes(b, header(b, 6)), value=value)  # BUG: CTS103


def store_behind_8_bytes(b):
    value, _ = b.op("LoadPtrTko", result_type="4xf32", source=lanes(b, b.parameters[3]), paddingValue=None)
    b.op("StorePtrTko", destination=lanes(b, header(b, 8)), value=value)


def addition(b, pointers):
    e = b.encodings
    return {
        "result_type": "4xf32",
        "pointers": pointers,
        "arg": b.zero("4xf32"),
        "mode": e.AtomicRMWMode.ADDF,
        "memory_ordering_semantics": e.MemoryOrderingSemantics.RELAXED,
        "memory_scope": e.MemoryScope.DEVICE,
    }


def add_behind_5_bytes(b):
    b.op("AtomicRMWTko", **addition(b, lanes(b, header(b, 5))))  # BUG: CTS103


def add_behind_4_bytes(b):
    b.op("AtomicRMWTko", **addition(b, lanes(b, header(b, 4))))


def data():
    return np.zeros(64, np.int8), np.arange(16, dtype=np.float32)


def test_load(pair):
    (finding,) = pair("load_behind_6_bytes", "load_behind_8_bytes", (1,), data, parameters=BYTES + FLOATS)
    assert "not aligned to 4 bytes" in finding.message and finding.count == 4


def test_store(pair):
    pair("store_behind_6_bytes", "store_behind_8_bytes", (1,), data, parameters=BYTES + FLOATS)


def test_atomic_update(pair):
    pair("add_behind_5_bytes", "add_behind_4_bytes", (1,), data, parameters=BYTES + FLOATS)
