"""Stand-ins for the GPU that a program expects: its launches, torch's CUDA, and packages that need one."""

from cutile_sim.standin.activation import install, simulated_launches, uninstall

__all__ = ["install", "simulated_launches", "uninstall"]
