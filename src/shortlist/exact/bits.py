"""Sources of random bits. Randomness enters the library here and nowhere else.

A source gives uniform bytes only. Other modules make other distributions from them.
"""

from __future__ import annotations

import operator
import os
from typing import Protocol

from shortlist.errors import ParameterError


class Bits(Protocol):
    """A source of independent, uniform random bytes."""

    def draw(self, count: int) -> bytes:
        """Draw the next `count` bytes."""


def read_bits(bits: Bits | None) -> Bits:
    """Return the source that was given, or that of the operating system. Refuse anything else."""
    if bits is None:
        return SystemBits()
    if isinstance(bits, type) or not callable(getattr(bits, "draw", None)):
        raise ParameterError(
            "`bits` must be a source of bits",
            f"not {type(bits).__name__}",
            hint="leave `bits` out for secure randomness, or pass SeededBits(7) to repeat an experiment",
        )
    return bits


def is_secure(bits: Bits) -> bool:
    """Whether the randomness is that of the operating system. No other class can claim this, not even a subclass."""
    return type(bits) is SystemBits


class SystemBits:
    """The randomness of the operating system. Only this source makes a secure release.

    Nothing is buffered. After a fork, two processes with one buffer would draw the same noise.
    """

    __slots__ = ()

    def draw(self, count: int) -> bytes:
        """Draw the next `count` bytes."""
        return os.urandom(count)


class SeededBits:
    """A repeatable stream for tests and experiments: blocks of SHAKE-256 of the seed and the block's number.

    The stream for a seed is the same on every machine and in every version of Python and NumPy.

    >>> SeededBits(7).draw(4) == SeededBits(7).draw(4)
    True
    """

    __slots__ = ("_block", "_buffer", "_offset", "_seed")
    _BLOCK = 1 << 14

    def __init__(self, seed: int) -> None:
        try:
            number = -1 if isinstance(seed, bool) else operator.index(seed)
        except TypeError:  # an array of floats has the method, too
            number = -1
        if not 0 <= number < 2**256:
            raise ParameterError("`seed` must be a whole number from 0 to 2^256 − 1")
        self._seed = f"shortlist {number}".encode()
        self._block = 0
        self._buffer = b""
        self._offset = 0

    def draw(self, count: int) -> bytes:
        """Draw the next `count` bytes."""
        import hashlib  # the randomness of the operating system needs no hash

        missing = count - (len(self._buffer) - self._offset)
        if missing > 0:
            parts = [self._buffer[self._offset :]]
            for block in range(self._block, self._block - (-missing // self._BLOCK)):
                parts.append(hashlib.shake_256(b"%b block %d" % (self._seed, block)).digest(self._BLOCK))
            self._block += len(parts) - 1
            self._buffer, self._offset = b"".join(parts), 0
        drawn = self._buffer[self._offset : self._offset + count]
        self._offset += count
        return drawn
