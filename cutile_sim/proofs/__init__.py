"""Proves a kernel's accesses for all blocks of a launch without running it; what fails is confirmed by a replay."""

from __future__ import annotations

from cutile_sim.proofs.launch import ProofReport, prove_launch

__all__ = ["ProofReport", "prove_launch"]
