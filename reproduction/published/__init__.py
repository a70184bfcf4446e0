"""The algorithms of the paper and of those it compares with, as published.

All of them are `research`: they work in floating point with a generator that the caller hands in, so they
cannot make a secure release. Each takes `(counts, k, epsilon, ..., rng)` and returns the indices of k
distinct items, best first; one person adds or removes at most one vote per item.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from reproduction.published.cdp_peel import cdp_peel
from reproduction.published.fastjoint import fastjoint
from reproduction.published.fastjoint_buckets import fastjoint_buckets
from reproduction.published.gamma import gamma
from reproduction.published.joint import joint
from reproduction.published.laplace import laplace
from reproduction.published.pnf_peel import pnf_peel
from shortlist.array_types import IntArray

__all__ = [
    "PUBLISHED",
    "cdp_peel",
    "fastjoint",
    "fastjoint_buckets",
    "gamma",
    "joint",
    "laplace",
    "pnf_peel",
]

PUBLISHED: Mapping[str, Callable[..., IntArray]] = MappingProxyType(
    {
        "joint": joint,
        "fastjoint": fastjoint,
        "fastjoint-buckets": fastjoint_buckets,
        "pnf-peel": pnf_peel,
        "cdp-peel": cdp_peel,
        "laplace": laplace,
        "gamma": gamma,
    }
)
