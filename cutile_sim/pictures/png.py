"""Writes PNG files with nothing but zlib, for pictures within HTML."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of pixels (uint8 [height, width, 4], RGBA)."""
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
        + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )


def data_url(pixels: np.ndarray) -> str:
    """The same as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
