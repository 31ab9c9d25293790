"""Checks a kernel without running it: it compiles, its Tile IR is valid, and NVIDIA's compiler takes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cutile_sim.errors import UnsupportedError
from cutile_sim.findings import Finding
from cutile_sim.frontend.diagnostics import compile_error_location
from cutile_sim.tileir.core import Module
from cutile_sim.tileir.verify import verify

if TYPE_CHECKING:
    from cutile_sim.proofs import ProofReport


@dataclass(frozen=True)
class CheckReport:
    """What `check` found.

    Attributes:
        findings: What is wrong, in program order; empty for a kernel that is fine.
        notes: What was done, and what could not be done and why.
        proofs: What was proved for all blocks, where a grid was given.
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    proofs: ProofReport | None = None

    @property
    def ok(self) -> bool:
        """Whether there is no error among the findings, and no warning among those of the proofs."""
        proved = self.proofs.findings if self.proofs is not None else ()
        return all(f.severity != "error" for f in self.findings) and all(f.severity == "note" for f in proved)

    def only(self, findings: Collection[Finding]) -> CheckReport:
        """The report with no more than these of its findings: the others are known and count no more."""
        kept = tuple(f for f in self.findings if f in findings)
        proofs = self.proofs
        if proofs is not None:
            proofs = replace(proofs, findings=tuple(f for f in proofs.findings if f in findings))
        return replace(self, findings=kept, proofs=proofs)


def check(
    kernel: Any,
    *args: Any,
    arch: str | None = None,
    tileiras: str = "auto",
    grid: Any = None,
    sizes: Mapping[str, Any] | None = None,
    multiples: Mapping[str, int] | None = None,
) -> CheckReport:
    """Compile and verify a kernel for its arguments, without running it; with a grid, prove what it does with them.

    Args:
        kernel: A `@ct.kernel`, a module decoded by `load`, or the bytes of a `.tileirbc` file.
        args: What the kernel takes, as for `simulate`. Bytecode needs none.
        arch: The GPU to compile for, such as "sm_90". None: any GPU.
        tileiras: "auto" also compiles for `arch` with NVIDIA's tileiras where it is installed; "never" does not; else
            the path of the program.
        grid, sizes, multiples: As for `cutile_sim.proofs.prove_launch`, which is called where there is a grid.

    Raises:
        UsageError: The arguments do not fit the kernel; or there is no such `arch`.
        DecodeError: The bytes are not Tile IR.
    """
    notes: list[str] = []
    bytecode: bytes | None = None
    if isinstance(kernel, Module):
        module = kernel
    elif isinstance(kernel, bytes):
        from cutile_sim.tileir.decode import decode

        module, bytecode = decode(kernel), kernel
    else:
        from cutile_sim.frontend.cutile import cuda_tile
        from cutile_sim.frontend.export import compile_kernel

        try:
            compiled = compile_kernel(kernel, args, arch=arch)
        except cuda_tile().TileError as error:
            return CheckReport((compile_finding(error),), ())
        module, bytecode = compiled.module, compiled.bytecode
        notes.append(f"compiled for {arch or 'any GPU'} to Tile IR {compiled.bytecode_version}")
    findings = [Finding(e.rule, "error", e.reason, e.location) for e in verify(module)]
    notes.append(f"verified {sum(1 for _ in module.walk())} operations")
    if not findings:
        notes.extend(_limits(module))
        findings.extend(_ask_tileiras(bytecode, arch, tileiras, notes))
    proofs = None
    if grid is not None and all(f.severity != "error" for f in findings):
        from cutile_sim.proofs import prove_launch

        source = module if isinstance(kernel, bytes) else kernel
        proofs = prove_launch(source, grid, *args, sizes=sizes, multiples=multiples, arch=arch)
        findings.extend(proofs.findings)
    return CheckReport(tuple(findings), tuple(notes), proofs)


def compile_finding(error: Exception) -> Finding:
    """What cuTile's front-end refused (a `cuda.tile.TileError`), as a finding."""
    return Finding("compile", "error", str(getattr(error, "message", error)), compile_error_location(error))


def _limits(module: Module) -> Iterator[str]:
    """Operations that are valid, but that the simulator cannot run."""
    from cutile_sim.engine.plan import make_plan

    for function in module.functions:
        try:
            make_plan(function)
        except UnsupportedError as error:
            yield f"cannot be simulated: {error}"


def _ask_tileiras(bytecode: bytes | None, arch: str | None, program: str, notes: list[str]) -> list[Finding]:
    from cutile_sim.tileiras import compile_bytecode, find_tileiras

    if arch is None or bytecode is None or program == "never":
        return []
    found = find_tileiras() if program == "auto" else program
    if found is None:
        notes.append(f"not compiled for {arch}: tileiras is not installed (pip install 'cuda-tile[tileiras]')")
        return []
    complaints = compile_bytecode(found, bytecode, arch)
    if all(c.severity == "warning" for c in complaints):
        notes.append(f"tileiras compiles it for {arch}")
    return [
        Finding("tileiras", "error" if c.severity == "error" else "warning", c.message, c.location) for c in complaints
    ]
