"""Numbers that a user has typed."""

from __future__ import annotations

MAX_DIGITS = 18
"""More than any size, line or count has; Python itself refuses to read very long ones."""
MAX_SHOWN = 40
"""Characters that an error repeats of what makes no sense."""


def whole_number(text: str) -> int | None:
    """The number that a text of the digits 0 to 9 is; None for any other text, and for one too long."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None
