"""`cupy.cuda.Device`: the one simulated GPU."""

from __future__ import annotations

from typing import Any

from cutile_sim.standin.cupy.cuda import runtime


class Device:
    """The simulated GPU, number 0. Raises CUDARuntimeError for another number when it is used."""

    def __init__(self, device: int | Device | None = None) -> None:
        self.id = 0 if device is None else int(device)

    @property
    def compute_capability(self) -> str:
        gpu = runtime.current_gpu()
        return f"{gpu.major}{gpu.minor}"

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total device memory in bytes."""
        return runtime.memGetInfo()

    @property
    def pci_bus_id(self) -> str:
        return "0000:00:00.0"

    def use(self) -> Device:
        runtime.setDevice(self.id)
        return self

    def synchronize(self) -> None:
        """Nothing: a launch has ended when it returns."""
        runtime.check_device(self.id)

    def __enter__(self) -> Device:
        return self.use()

    def __exit__(self, *exception: object) -> None:
        pass

    def __int__(self) -> int:
        return self.id

    def __index__(self) -> int:
        return self.id

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


def get_device_id() -> int:
    """The number of the current device."""
    return 0
