"""The GPUs that can be stood in for, with what programs ask of a device, and whether a real one is there."""

from __future__ import annotations

import ctypes
import re
import sys
from typing import NamedTuple

from cutile_sim.errors import UsageError

DEFAULT_ARCH = "sm_90"
_GIB = 1 << 30


class Gpu(NamedTuple):
    """One GPU as a program sees it. The sizes are those of a product of that architecture.

    Attributes:
        arch: Such as `sm_90`.
        major, minor: Compute capability.
        product: The product that the sizes are taken from.
        multi_processor_count: Streaming multiprocessors.
        total_memory_bytes: Device memory.
        shared_memory_per_multiprocessor_bytes: Shared memory of one multiprocessor.
        l2_cache_bytes: Second-level cache.
    """

    arch: str
    major: int
    minor: int
    product: str
    multi_processor_count: int
    total_memory_bytes: int
    shared_memory_per_multiprocessor_bytes: int
    l2_cache_bytes: int

    @property
    def name(self) -> str:
        """The name of the device: it says that the device is simulated."""
        return f"{self.product} (simulated by cutile_sim)"


# Multiprocessors, GiB of memory, KiB of shared memory a multiprocessor, MiB of second-level cache: from NVIDIA's data
# sheets and the table of technical specifications per compute capability in the CUDA programming guide.
_PRODUCTS = {
    "sm_80": ("NVIDIA A100", 108, 80, 164, 40),
    "sm_86": ("NVIDIA A40", 84, 48, 100, 6),
    "sm_87": ("NVIDIA Orin", 16, 64, 164, 4),
    "sm_89": ("NVIDIA L40S", 142, 48, 100, 96),
    "sm_90": ("NVIDIA H200", 132, 141, 228, 50),
    "sm_100": ("NVIDIA B200", 148, 180, 228, 126),
    "sm_103": ("NVIDIA B300", 148, 270, 228, 126),
    "sm_110": ("NVIDIA Thor", 20, 128, 228, 32),
    "sm_120": ("NVIDIA RTX PRO 6000", 188, 96, 100, 128),
    "sm_121": ("NVIDIA GB10", 48, 128, 100, 24),
}


def gpu_of(arch: str) -> Gpu:
    """The GPU of an architecture. Raises UsageError for one that cannot be stood in for."""
    row = _PRODUCTS.get(arch)
    match = re.fullmatch(r"sm_(\d+)(\d)", arch)
    if row is None or match is None:
        raise UsageError(
            f"there is no stand-in for a GPU of architecture {arch!r}; possible are {', '.join(_PRODUCTS)}"
        )
    product, processors, memory_gib, shared_kib, l2_mib = row
    return Gpu(
        arch,
        int(match[1]),
        int(match[2]),
        product,
        processors,
        memory_gib * _GIB,
        shared_kib << 10,
        l2_mib << 20,
    )


def real_gpu_present() -> bool:
    """Whether the NVIDIA driver is installed and has at least one device."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(library)
        count = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except (OSError, AttributeError):
        return False
