"""Drives the page in a browser: points, waits, looks at canvases."""

from __future__ import annotations

import re
from typing import Any


def move(page: Any, canvas: str, across: float, down: float) -> None:
    """Put the pointer on a share of a canvas."""
    box = page.locator(canvas).bounding_box()
    page.mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * down)


def wait_text(page: Any, selector: str, words: str) -> None:
    page.locator(selector).filter(has_text=re.compile(words)).first.wait_for(timeout=10_000)


def pixels(page: Any, canvas: str) -> str:
    page.wait_for_timeout(150)
    return page.evaluate("(id) => document.querySelector(id).toDataURL()", canvas)


def wait_change(page: Any, canvas: str, before: str) -> str:
    page.wait_for_function(
        "([id, before]) => document.querySelector(id).toDataURL() !== before", arg=[canvas, before], timeout=10_000
    )
    return pixels(page, canvas)


def choose(page: Any, name: str, value: Any) -> None:
    page.locator(f"[data-name={name}] label:has(input[value='{value}'])").click()
