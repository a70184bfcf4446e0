"""Sources of random bits, for tests and experiments: repeatable ones, and that of the operating system.

A release that is made with any source but `SystemBits` is marked as not secure.
"""

from __future__ import annotations

from shortlist.exact.bits import Bits, SeededBits, SystemBits

__all__ = ["Bits", "SeededBits", "SystemBits"]
