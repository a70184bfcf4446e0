"""The paper beside the package: its algorithms as published, its experiments, and a report on its claims.

Start with `fastjoint`. All published algorithms work in floating point with a generator that the caller hands in, so
they cannot make a secure release. Each takes `(counts, k, epsilon, ..., rng)` and returns the indices of k distinct
items, best first; one person adds or removes at most one vote per item. `python -m reproduction` runs the experiments.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from reproduction import adaptive, baselines, fastjoint, fastjoint_buckets, joint
from shortlist.array_types import IntArray

__all__ = ["PUBLISHED"]

PUBLISHED: Mapping[str, Callable[..., IntArray]] = MappingProxyType(
    {
        "joint": joint.joint,
        "fastjoint": fastjoint.fastjoint,
        "fastjoint-buckets": fastjoint_buckets.fastjoint_buckets,
        "pnf-peel": baselines.pnf_peel,
        "cdp-peel": baselines.cdp_peel,
        "truncated-peel": baselines.truncated_peel,
        "adaptive-fastjoint": adaptive.adaptive_fastjoint,
        "adaptive-cdp-peel": adaptive.adaptive_cdp_peel,
        "laplace": baselines.laplace,
        "gamma": baselines.gamma,
    }
)
"""The published algorithms by name."""
