"""Whether a mechanism may make a secure release."""

from __future__ import annotations

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, is_secure
from shortlist.mechanisms import Mechanism


def check_may_release(mechanism: Mechanism, bits: Bits) -> None:
    """Refuse a secure release by a mechanism that computes in floating point. Call it before data is read."""
    if mechanism.research and is_secure(bits):
        raise ParameterError(
            "{name} computes in floating point and must not make a secure release",
            hint="choose another {mechanism}; for experiments pass {bits=SeededBits(7)}, which marks the release",
            name=mechanism.name,
        )
