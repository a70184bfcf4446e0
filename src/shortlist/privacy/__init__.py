"""What a guarantee is, how guarantees add up, and the exact numbers that they are made of."""

from shortlist.privacy.composition import compose
from shortlist.privacy.guarantee import Guarantee, Neighbours

__all__ = ["Guarantee", "Neighbours", "compose"]
