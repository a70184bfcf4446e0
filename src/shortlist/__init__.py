"""Differentially private top-k selection, sampled exactly and with secure randomness."""

from shortlist.errors import ShortlistError
from shortlist.exact.bits import SeededBits, SystemBits
from shortlist.mechanisms import FastJoint, Joint, PNFJoint
from shortlist.privacy import Guarantee, Neighbours
from shortlist.selection import top_k
from shortlist.version import __version__

__all__ = [
    "FastJoint",
    "Guarantee",
    "Joint",
    "Neighbours",
    "PNFJoint",
    "SeededBits",
    "ShortlistError",
    "SystemBits",
    "__version__",
    "top_k",
]
