"""`cupy.cuda.runtime`: the calls of the CUDA runtime that ask about devices or wait for them."""

from __future__ import annotations

from typing import Any

from cutile_sim.standin import activation
from cutile_sim.standin.cupy.missing import missing_attribute
from cutile_sim.standin.gpus import DEFAULT_ARCH, Gpu, gpu_of

is_hip = False
_CUDA_VERSION = 13000
_INVALID_DEVICE = 101


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime. Attributes: status (its number)."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def current_gpu() -> Gpu:
    """The simulated GPU: the default one for a program that keeps using the module after the stand-ins are gone."""
    return activation.current_gpu() if activation.is_installed() else gpu_of(DEFAULT_ARCH)


def check_device(device_id: int) -> None:
    """Raise CUDARuntimeError for any device but number 0."""
    if device_id != 0:
        raise CUDARuntimeError(
            _INVALID_DEVICE, f"cudaErrorInvalidDevice: invalid device ordinal {device_id}: one GPU is simulated"
        )


def getDeviceCount() -> int:
    return 1


def getDevice() -> int:
    return 0


def setDevice(device: int) -> None:
    check_device(device)


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Properties of the simulated GPU; the name is bytes, as in CuPy."""
    check_device(device)
    gpu = current_gpu()
    return {
        "name": gpu.name.encode(),
        "major": gpu.major,
        "minor": gpu.minor,
        "multiProcessorCount": gpu.multi_processor_count,
        "totalGlobalMem": gpu.total_memory_bytes,
        "sharedMemPerMultiprocessor": gpu.shared_memory_per_multiprocessor_bytes,
        "l2CacheSize": gpu.l2_cache_bytes,
        "warpSize": 32,
        "maxThreadsPerBlock": 1024,
        "maxGridSize": (2**31 - 1, 65535, 65535),
    }


def memGetInfo() -> tuple[int, int]:
    """Free and total device memory in bytes."""
    total = current_gpu().total_memory_bytes
    return total, total


def deviceSynchronize() -> None:
    """Nothing: a launch has ended when it returns."""


def streamSynchronize(stream: int) -> None:
    """Nothing: a launch has ended when it returns."""


def runtimeGetVersion() -> int:
    return _CUDA_VERSION


def driverGetVersion() -> int:
    return _CUDA_VERSION


def __getattr__(name: str) -> Any:
    raise missing_attribute("cupy.cuda.runtime", name)
