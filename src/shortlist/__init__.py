"""Differentially private top-k selection, sampled exactly and with secure randomness."""

from shortlist.errors import ShortlistError
from shortlist.exact.bits import SeededBits, SystemBits
from shortlist.mechanisms import CDPPeel, FastJoint, Gamma, Joint, Laplace, PNFJoint, PNFPeel
from shortlist.privacy import Guarantee, Neighbours, compose
from shortlist.selection import top_k
from shortlist.version import __version__

__all__ = [
    "CDPPeel",
    "FastJoint",
    "Gamma",
    "Guarantee",
    "Joint",
    "Laplace",
    "Neighbours",
    "PNFJoint",
    "PNFPeel",
    "SeededBits",
    "ShortlistError",
    "SystemBits",
    "__version__",
    "compose",
    "top_k",
]
