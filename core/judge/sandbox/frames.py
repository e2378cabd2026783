"""Messages on a pipe: a number, a length, and that many bytes."""

import os
import struct
import time
from typing import Literal

Kind = Literal["timeout", "memory", "exited", "crashed", "garbled", "output"]
"""Why a child can answer no more."""

HEADER = struct.Struct("<IQ")


class Garbled(Exception):
    """What came is not the reply to the request of this number."""


class TooLarge(Exception):
    """The reply is longer than allowed."""


class Inbox:
    """Puts one reply together as its bytes come; holds at most `most` of them."""

    def __init__(self, number: int, most: int) -> None:
        self._number, self._most, self._bytes = number, most, bytearray()

    def feed(self, data: bytes) -> bytes | None:
        """The body once it is whole. Raises Garbled or TooLarge."""
        self._bytes += data
        if len(self._bytes) < HEADER.size:
            return None
        number, length = HEADER.unpack_from(self._bytes)
        if number != self._number:
            raise Garbled
        if length > self._most:
            raise TooLarge
        if len(self._bytes) > HEADER.size + length:
            raise Garbled  # somebody else writes there, too
        return bytes(self._bytes[HEADER.size :]) if len(self._bytes) == HEADER.size + length else None


class Printed:
    """The first `most` bytes of what was printed; the rest is counted and dropped."""

    def __init__(self, most: int) -> None:
        self._most, self._kept, self._dropped = most, bytearray(), 0

    def feed(self, data: bytes) -> None:
        room = self._most - len(self._kept)
        self._kept += data[:room]
        self._dropped += max(0, len(data) - room)

    def __str__(self) -> str:
        text = self._kept.decode("utf-8", "replace")
        return f"{text}\n… (+ {self._dropped} bytes)" if self._dropped else text


def frame(number: int, body: bytes) -> bytes:
    return HEADER.pack(number, len(body)) + body


def read_frame(fd: int) -> tuple[int, bytes]:
    """Blocks; raises EOFError at the end of the pipe."""
    number, length = HEADER.unpack(_read_exactly(fd, HEADER.size))
    return number, _read_exactly(fd, length)


def write_all(fd: int, data: bytes) -> None:
    """Blocks until all is written."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def seconds_left(deadline: float) -> float:
    """Raises TimeoutError when there are none; `deadline` is of time.monotonic()."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _read_exactly(fd: int, n: int) -> bytes:
    got = bytearray()
    while len(got) < n:
        chunk = os.read(fd, min(n - len(got), 1 << 20))
        if not chunk:
            raise EOFError
        got += chunk
    return bytes(got)
