"""A cursor over the bytes of a file: every read is checked, and every fault says where it lies."""

from __future__ import annotations

from cutile_sim.errors import DecodeError

PADDING_BYTE = 0xCB
_MAX_VARINT_BYTES = 10


class Reader:
    """Reads `data[start:end]` in order. Positions are counted from the beginning of the file.

    Every method raises DecodeError where the bytes run out or do not fit.
    """

    __slots__ = ("data", "end", "position", "section", "start")

    def __init__(self, data: bytes, section: str, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.section = section
        self.start = start
        self.end = len(data) if end is None else end
        self.position = start

    @property
    def remaining_bytes(self) -> int:
        return self.end - self.position

    def fail(self, reason: str, *, at: int | None = None) -> DecodeError:
        """The error to raise: at the current position, or at `at`."""
        return DecodeError(reason, offset_bytes=self.position if at is None else at, section=self.section)

    def part(self, start: int, end: int, section: str | None = None) -> Reader:
        """A reader of a part of the same file."""
        return Reader(self.data, section or self.section, start, end)

    def byte(self) -> int:
        at = self.position
        if at >= self.end:
            raise self.fail("the file ends in the middle of a value")
        self.position = at + 1
        return self.data[at]

    def take(self, size_bytes: int) -> bytes:
        at = self.position
        if size_bytes > self.end - at:
            raise self.fail(f"{size_bytes} bytes are announced but only {self.end - at} are left")
        self.position = at + size_bytes
        return self.data[at : at + size_bytes]

    def varint(self) -> int:
        """An unsigned integer, seven bits a byte, lowest first."""
        at = self.position
        if at < self.end and self.data[at] < 0x80:
            self.position = at + 1
            return self.data[at]
        value = 0
        for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
            low = self.byte()
            value |= (low & 0x7F) << shift
            if low < 0x80:
                return value
        raise self.fail("an integer is longer than any can be", at=at)

    def signed_varint(self) -> int:
        """A signed integer: its sign is in the lowest bit."""
        raw = self.varint()
        return ~(raw >> 1) if raw & 1 else raw >> 1

    def little(self, size_bytes: int, *, signed: bool = False) -> int:
        """A little-endian integer of fixed size."""
        return int.from_bytes(self.take(size_bytes), "little", signed=signed)

    def flag(self) -> bool:
        """One byte that is 0 or 1."""
        value = self.byte()
        if value > 1:
            raise self.fail(f"a truth value is {value}, not 0 or 1", at=self.position - 1)
        return bool(value)

    def count(self, least_bytes_each: int = 1) -> int:
        """How many things follow. Refused where they could not fit in the bytes that are left."""
        at = self.position
        value = self.varint()
        if value * least_bytes_each > self.remaining_bytes:
            raise self.fail(f"{value} items are announced but only {self.remaining_bytes} bytes are left", at=at)
        return value

    def integers(self, size_bytes: int) -> tuple[int, ...]:
        """A counted list of signed little-endian integers."""
        return tuple(self.little(size_bytes, signed=True) for _ in range(self.count(size_bytes)))

    def align(self, alignment_bytes: int, *, origin: int | None = None) -> None:
        """Skip padding up to a multiple of `alignment_bytes` from `origin` (the reader's start unless
        told).
        """
        distance = self.position - (self.start if origin is None else origin)
        self.take(-distance % alignment_bytes)

    def finish(self) -> None:
        """Make sure that nothing is left over."""
        if self.position != self.end:
            raise self.fail(f"{self.remaining_bytes} bytes are left over")
