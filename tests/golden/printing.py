"""Kernels whose printed text was recorded on an NVIDIA H200: printing.json, by name.

For the failed assertion, what follows the file and the line.
"""

from __future__ import annotations

import cuda.tile as ct
import numpy as np

VALUES = np.array([0.5, 1.0, 2.25, 3.0], np.float32)


@ct.kernel
def printf_scalars(x):
    ct.printf("%d|%5d|%-5d|%05d|%x|%u\n", 42, -7, 3, 12, 255, 9)
    ct.printf("%f|%.3f|%8.2f|%e|%g\n", 1.5, 2.0 / 3.0, -3.14159, 12345.678, 0.0001)


@ct.kernel
def printf_tiles(x):
    t = ct.load(x, (0,), (4,))
    ct.printf("t=%f\n", t)
    ct.printf("i=%d\n", ct.arange(4, dtype=ct.int32))
    ct.printf("m=%d\n", ct.reshape(ct.arange(8, dtype=ct.int32), (2, 4)))


@ct.kernel
def print_values(x):
    t = ct.load(x, (0,), (4,))
    ct.print("hello", 1, 2.5, t)
    ct.print(t, ct.bid(0), sep="; ", end=".\n")
    print(f"f-string {ct.bid(0)} {t}")
    print(ct.reshape(ct.arange(8, dtype=ct.int64), (2, 4)))
    print(ct.astype(t, ct.float16), ct.astype(t, ct.bfloat16), ct.astype(t, ct.float64), t > 1)
    print(ct.bid(0) == 0, ct.uint8(200), ct.int8(-5))


@ct.kernel
def specials(x):
    t = ct.load(x, (0,), (4,))
    print(t / 0.0)
    print(ct.sqrt(-t))
    ct.printf("%f %e\n", t * 1e30, t * 1e-30)


@ct.kernel
def asserting(x):
    t = ct.load(x, (0,), (4,))
    ct.assert_(t < 3.0, "too big")


KERNELS = {
    "printf_scalars": printf_scalars,
    "printf_tiles": printf_tiles,
    "print_values": print_values,
    "specials": specials,
    "asserting": asserting,
}
