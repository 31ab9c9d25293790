"""What a sanitized launch looks for."""

from __future__ import annotations

from dataclasses import dataclass

from cutile_sim.errors import UsageError

CHECK_NAMES = (
    "bounds",
    "undetermined",
    "arithmetic",
    "promises",
    "numbers",
    "races",
    "outputs",
    "hangs",
)


@dataclass(frozen=True)
class SanitizeOptions:
    """Choices of a sanitized launch.

    Attributes:
        checks: Names out of `CHECK_NAMES`.
        uninitialised: Array parameters whose contents before the launch mean nothing.
        outputs: Array parameters that the kernel must write whole.
        precision: Also compare sums and products with float64, and name the line that loses the most.

    Raises:
        UsageError: There is no check of that name.
    """

    checks: tuple[str, ...] = CHECK_NAMES
    uninitialised: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    precision: bool = False

    def __post_init__(self) -> None:
        for name in self.checks:
            if name not in CHECK_NAMES:
                raise UsageError(f"there is no check {name!r}; there are {', '.join(CHECK_NAMES)}")
