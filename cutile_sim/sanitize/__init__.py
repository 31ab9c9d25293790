"""The sanitizer: observers of a launch that say what a GPU would hide. The engine knows nothing of it.

    from cutile_sim import simulate
    result = simulate(kernel, grid, *args, sanitize=True)
    for finding in result.findings: print(finding)

Every check is a module of its own; `CHECKS` names them. What the findings mean is in docs/findings.md.
"""

from __future__ import annotations

from cutile_sim.sanitize.options import CHECK_NAMES, DEFAULT_CHECKS, SMS_OF_H200, SanitizeOptions
from cutile_sim.sanitize.sanitizer import CHECKS, Sanitizer, finding_of_error
from cutile_sim.sanitize.session import Session

__all__ = [
    "CHECKS",
    "CHECK_NAMES",
    "DEFAULT_CHECKS",
    "SMS_OF_H200",
    "SanitizeOptions",
    "Sanitizer",
    "Session",
    "finding_of_error",
]
