"""Do mechanisms of other libraries draw from the laws that they are meant to have, and do they state them rightly?

    pip install '.[bench]'
    python benchmarks/conformance.py                 40,000 draws for each row
    python benchmarks/conformance.py --draws 4000    fewer

The laws are those of `shortlist conformance export`. A row is one law, on the histograms that have all neighbours in
the suite. Each draw takes one of them at random. The p-value is a bound that holds for every number of draws: a right
sampler has p <= 10^-9 with a probability of at most 10^-9. The last column shows that the test has power: the same
draws against the laws with an epsilon that is 30 % off. `states` is what the library states for one person, epsilon or
rho. `suite` is the largest one between neighbours of the suite, and must not be larger.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist.audits.cases import Case
from shortlist.audits.conformance import write_conformance
from shortlist.audits.frequencies import ALARM, STRETCHES, find_p_value
from shortlist.mechanisms import MECHANISMS

Choose = Callable[[list[int]], list[int]]
Items = tuple[int, ...]


@dataclass(frozen=True)
class Peer:
    """A mechanism of another library, set up for a law of the suite."""

    name: str
    choose: Choose
    states: float
    """The epsilon, or the rho, that it states for one person."""
    is_rho: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40_000)
    draws = parser.parse_args().draws
    print("| library | law | k | neighbours | p | result | states | suite | p at 30 % off |")
    print("|---" * 9 + "|")
    for case in json.loads(write_conformance())["cases"]:
        for peer in list_peers(case):
            compare(case, peer, draws)


def list_peers(case: dict[str, Any]) -> Iterator[Peer]:
    """List what other libraries have of a law."""
    parameters, law = case["parameters"], case["mechanism"]
    k, add_remove = parameters["k"], parameters["neighbours"] == "add-remove"
    if law in ("pnf-peel", "cdp-peel"):
        rate = float(Fraction(case["round_rate"]))
        yield make_opendp(k, 1 / rate, pure=law == "pnf-peel", monotonic=add_remove)
        kind = "PermuteAndFlip" if law == "pnf-peel" else "Exponential"
        yield make_diffprivlib(kind, k, rate if add_remove else 2 * rate, monotonic=add_remove)
    if law == "joint" and k == 1 and add_remove:
        yield make_diffprivlib("Exponential", 1, 1.0, monotonic=False)


def make_opendp(k: int, scale: float, *, pure: bool, monotonic: bool) -> Peer:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=monotonic)
    made = dp.m.make_noisy_top_k(*space, measure, k=k, scale=scale)
    return Peer("OpenDP `make_noisy_top_k`", made, made.map(1), is_rho=not pure)


def make_diffprivlib(kind: str, k: int, epsilon: float, *, monotonic: bool) -> Peer:
    """Peel with a mechanism of diffprivlib, which has no top k: each of k rounds has this epsilon."""
    from diffprivlib import mechanisms

    make = getattr(mechanisms, kind)

    def choose(counts: list[int]) -> list[int]:
        left, chosen = list(range(len(counts))), []
        for _ in range(k):
            utility = [float(counts[item]) for item in left]
            chosen.append(
                left.pop(make(epsilon=epsilon, sensitivity=1, utility=utility, monotonic=monotonic).randomise())
            )
        return chosen

    return Peer(f"diffprivlib `{kind}`" + (", peeled" if k > 1 else ""), choose, k * epsilon)


def compare(case: dict[str, Any], peer: Peer, draws: int) -> None:
    histograms, rng, at = case["histograms"], np.random.default_rng(1), case["parameters"]
    bases = list(dict.fromkeys(one for one, _ in case["neighbours"]))
    places = rng.choice(bases, size=draws).tolist()
    seen = [(place, tuple(peer.choose(histograms[place]["counts"]))) for place in places]
    laws = [{tuple(row["items"]): float(row["probability"]) for row in each["law"]} for each in histograms]
    tried = [[laws[base] for base in bases]]
    tried += [[stretch_law(case, histograms[base]["counts"], stretch) for base in bases] for stretch in STRETCHES]
    p, *off = (find_p_value(seen, mix(dict(zip(bases, each, strict=True)))) for each in tried)
    pairs = [pair for one, other in case["neighbours"] for pair in ((one, other), (other, one))]
    loss = max(measure_loss(laws[one], laws[other], rho=peer.is_rho) for one, other in pairs)
    print(
        f"| {peer.name} | `{case['mechanism']}` | {at['k']} | {at['neighbours']} | {p:.2g} "
        f"| {'passes' if p > ALARM and loss <= peer.states else '**fails**'} "
        f"| {'ρ' if peer.is_rho else 'ε'} = {peer.states:.4f} | {loss:.4f} | {max(off):.0e} |",
        flush=True,
    )


def mix(laws: dict[int, dict[Items, float]]) -> dict[tuple[int, Items], float]:
    """The law of a histogram that is taken at random, and of the items that are drawn from it."""
    return {(place, items): chance / len(laws) for place, law in laws.items() for items, chance in law.items()}


def stretch_law(case: dict[str, Any], counts: list[int], stretch: Fraction) -> dict[Items, float]:
    """State the law of a case with another epsilon."""
    given = dict(case["parameters"])
    k, epsilon, relation = given.pop("k"), Fraction(given.pop("epsilon")), given.pop("neighbours")
    built = Case(kind=MECHANISMS[case["mechanism"]], epsilon=epsilon, options=given)
    law = built.state(tuple(counts), k, relation, reach=0, stretch=stretch)
    return {output.items: chance for output, chance in law.items()}


def measure_loss(one: dict[Items, float], other: dict[Items, float], *, rho: bool) -> float:
    """The largest loss between two laws: a ratio, or a Rényi divergence of some orders divided by the order."""
    if not rho:
        return max(math.log(one[each] / other[each]) for each in one)
    moments = {
        order: sum(p**order * other[each] ** (1 - order) for each, p in one.items()) for order in (1.1, 2, 8, 32)
    }
    return max(math.log(moment) / (order - 1) / order for order, moment in moments.items())


if __name__ == "__main__":
    main()
