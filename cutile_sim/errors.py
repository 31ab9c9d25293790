"""Everything cutile_sim raises on purpose: the class says whose fault it is, the text what, where and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutile_sim.debugger import Stop
    from cutile_sim.findings import Finding
    from cutile_sim.tileir.core import Location


class CutileSimError(Exception):
    """Base of all errors of this package.

    Attributes:
        reason: What happened, in one sentence, with no place in it.
        location: The kernel's source location, or None where there is none.
        printed: What the kernel had printed when it was stopped.
        findings: What the sanitizer had found by then, and what stopped the launch; none without a sanitizer.
        stops: The launch's stops at `break_at` up to there.
    """

    printed: str = ""
    findings: tuple[Finding, ...] = ()
    stops: tuple[Stop, ...] = ()

    def __init__(self, reason: str, *, location: Location | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.location = location

    def __str__(self) -> str:
        from cutile_sim.source import describe

        where = describe(self.location)
        return f"{self.reason}\n{where}" if where else self.reason


class DecodeError(CutileSimError, ValueError):
    """The file is not Tile IR bytecode, is damaged, or is newer than this release.

    Attributes:
        offset_bytes: Where in the file the fault was noticed.
        section: The section it lies in ("header", "function", "type", ...).
    """

    def __init__(self, reason: str, *, offset_bytes: int, section: str, location: Location | None = None) -> None:
        super().__init__(f"{reason} (byte {offset_bytes:#x}, {section} section)", location=location)
        self.offset_bytes = offset_bytes
        self.section = section


class VerifyError(CutileSimError, ValueError):
    """The kernel breaks a rule of Tile IR: the real compiler would refuse it.

    Attributes:
        rule: A short stable name of the rule.
    """

    def __init__(self, reason: str, *, rule: str, location: Location | None = None) -> None:
        super().__init__(reason, location=location)
        self.rule = rule


class UnsupportedError(CutileSimError, NotImplementedError):
    """The kernel needs something that one simulated GPU cannot give."""


class KernelError(CutileSimError, RuntimeError):
    """The kernel did something wrong while running.

    Attributes:
        block: The block id (x, y, z), where one block is to blame.
        lane: The position in the tile, where one lane is to blame.
    """

    def __init__(
        self,
        reason: str,
        *,
        location: Location | None = None,
        block: tuple[int, int, int] | None = None,
        lane: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(reason, location=location)
        self.block = block
        self.lane = lane

    def __str__(self) -> str:
        place = ""
        if self.block is not None:
            place = f" (block {tuple(int(i) for i in self.block)}"
            if self.lane:
                place += f", lane {tuple(int(i) for i in self.lane)}"
            place += ")"
        from cutile_sim.source import describe

        where = describe(self.location)
        return f"{self.reason}{place}" + (f"\n{where}" if where else "")


class OutOfBoundsError(KernelError, IndexError):
    """A memory access outside the array it was meant for, or outside every array."""


class MisalignedError(KernelError):
    """A memory access at an address that its element type does not allow."""


class ReadOnlyError(KernelError):
    """A store into an array that the caller may not write."""


class AssertionFailedError(KernelError, AssertionError):
    """A `ct.assert_` whose condition is false on some lane."""


class BudgetExceededError(KernelError, TimeoutError):
    """A launch that ran past its step or time limit: most likely a loop that never ends."""


class UsageError(CutileSimError, ValueError):
    """The caller asked for something that makes no sense: arguments, grid, file, specification."""


class UsageTypeError(UsageError, TypeError):
    """A wrong kind of argument, where a launch on a GPU raises TypeError."""


class UsageOverflowError(UsageError, OverflowError):
    """An integer that does not fit its parameter, where a launch on a GPU raises OverflowError."""


class InternalError(CutileSimError):
    """A mistake of cutile_sim itself. Please report it."""
