"""What a sanitized launch looks for."""

from __future__ import annotations

from dataclasses import dataclass

from cutile_sim.errors import UsageError

DEFAULT_CHECKS = (
    "bounds",
    "undetermined",
    "arithmetic",
    "promises",
    "numbers",
    "races",
    "outputs",
    "hangs",
)
SMS_OF_H200 = 132
CHECK_NAMES = (*DEFAULT_CHECKS, "precision")
"""Every check; `precision` repeats sums and products in float64, and runs only where it is named."""


@dataclass(frozen=True)
class SanitizeOptions:
    """Choices of a sanitized launch.

    Attributes:
        checks: Names out of `CHECK_NAMES`.
        uninitialised: Array parameters whose contents before the launch mean nothing.
        outputs: Array parameters that the kernel must write whole.
        resident_blocks: How many blocks the GPU surely runs at once: its number of SMs. More may fit, up to 32 on each.

    Raises:
        UsageError: There is no check of that name, or no block at all is resident.
    """

    checks: tuple[str, ...] = DEFAULT_CHECKS
    uninitialised: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    resident_blocks: int = SMS_OF_H200

    def __post_init__(self) -> None:
        for name in self.checks:
            if name not in CHECK_NAMES:
                raise UsageError(f"there is no check {name!r}; there are {', '.join(CHECK_NAMES)}")
        if self.resident_blocks < 1:
            raise UsageError(f"resident_blocks must be at least 1, not {self.resident_blocks}")
