"""The claims about errors. Only real data count here: the shape of a stand-in is invented."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.paper.data.datasets import DATASETS
from shortlist.paper.experiment.grid import DEFAULT
from shortlist.paper.experiment.measure import Row
from shortlist.paper.experiment.results import Results
from shortlist.paper.report.verdict.finding import FEWEST, Finding, judged, overlap, pairs, ratios, spread
from shortlist.paper.report.verdict.speed import CDP_PEEL, FASTJOINT, JOINT, PNF_PEEL

_MEASURES = {"linf": "ℓ∞", "l1": "ℓ1"}
_NO_DATA = f"no such sweep over real data was run with {FEWEST} trials or more"
_MOST = 0.9


def fastjoint_is_like_joint(results: Results) -> Finding:
    """Section 5: no degradation of quality compared to Joint."""
    claim = "FastJoint is as accurate as Joint"
    test = "the quartile ranges of the errors overlap at 90 % of all k and ε on real data, for ℓ∞ and ℓ1"
    found = [
        pair
        for name in results.real
        for vary in ("k", "epsilon")
        for pair in pairs(results, name, FASTJOINT, JOINT, vary)
    ]
    if not found:
        return Finding.untested(claim, test, _NO_DATA)
    said, holds = [], True
    for measure, symbol in _MEASURES.items():
        met = sum(overlap(*pair, measure) for pair in found)
        holds = holds and met >= _MOST * len(found)
        values = ratios(found, measure, pad=1)
        said.append(f"{symbol}: overlap at {met} of {len(found)}, FastJoint's median over Joint's {spread(values)}")
    return Finding(claim=claim, test=test, measured="; ".join(said), holding=judged(holds))


def fastjoint_beats_pnf_peel(results: Results) -> Finding:
    """Section 5: FastJoint consistently outperforms PNF-Peel for all values of k."""
    claim = "FastJoint is more accurate than PNF-Peel for all k"
    test = "its median error is no larger at every k on every real data set, for ℓ∞ and ℓ1"
    said, holds = [], True
    for name in results.real:
        found = pairs(results, name, FASTJOINT, PNF_PEEL)
        if found:
            for measure, symbol in _MEASURES.items():
                worse = _worse(found, measure)
                holds = holds and not worse
                said.append(_sentence(f"{name} {symbol}", worse, len(found)))
    if not said:
        return Finding.untested(claim, test, _NO_DATA)
    return Finding(claim=claim, test=test, measured="; ".join(said), holding=judged(holds))


def fastjoint_beats_cdp_peel_where_gaps_are_wide(results: Results) -> Finding:
    """Section 5: also more accurate than CDP-Peel, for at least moderately large k."""
    claim = "Where gaps are wide, FastJoint is more accurate than CDP-Peel from moderate k on"
    test = (
        f"from some k of at most {DEFAULT.k} on, its median error is no larger, and smaller somewhere, "
        "on books, news, tweets and movies, for ℓ∞ and ℓ1"
    )
    said, holds = [], True
    for name in results.real:
        found = pairs(results, name, FASTJOINT, CDP_PEEL) if DATASETS[name].wide_gaps else []
        if found:
            for measure, symbol in _MEASURES.items():
                worse = _worse(found, measure)
                after = [(one, other) for one, other in found if one.k > max(worse, default=0)]
                gained = any(value < 1 for value in ratios(after, measure, pad=1))
                holds = holds and gained and after[0][0].k <= DEFAULT.k
                since = f"from k = {after[0][0].k} on" if after else "for no k on"
                said.append(f"{name} {symbol} {since}" + ("" if gained else " (but nowhere smaller)"))
    if not said:
        return Finding.untested(claim, test, _NO_DATA)
    return Finding(claim=claim, test=test, measured="; ".join(said), holding=judged(holds))


def games_is_where_it_does_not_shine(results: Results) -> Finding:
    """Section 5, varying ε: slightly better than PNF-Peel and inferior to CDP-Peel on games."""
    claim = "On games, FastJoint is slightly better than PNF-Peel and inferior to CDP-Peel as ε varies"
    test = "median ℓ∞ error below PNF-Peel's and above CDP-Peel's at every ε"
    against_pnf = pairs(results, "games", FASTJOINT, PNF_PEEL, "epsilon") if "games" in results.real else []
    against_cdp = pairs(results, "games", FASTJOINT, CDP_PEEL, "epsilon") if "games" in results.real else []
    if not against_pnf or not against_cdp:
        return Finding.untested(claim, test, _NO_DATA)
    to_pnf, to_cdp = (ratios(found, "linf", pad=1) for found in (against_pnf, against_cdp))
    below, above = sum(value < 1 for value in to_pnf), sum(value > 1 for value in to_cdp)
    measured = (
        f"FastJoint's ℓ∞ + 1 over PNF-Peel's {spread(to_pnf)}, below 1 at {below} of {len(to_pnf)} ε; "
        f"over CDP-Peel's {spread(to_cdp)}, above 1 at {above} of {len(to_cdp)} ε"
    )
    return Finding(claim=claim, test=test, measured=measured, holding=judged(max(to_pnf) < 1 < min(to_cdp)))


def _worse(found: Sequence[tuple[Row, Row]], measure: str) -> list[int]:
    """Those k at which the first's median error is larger."""
    return [one.k for one, other in found if one.quartiles(measure)[1] > other.quartiles(measure)[1]]


def _sentence(what: str, worse: Sequence[int], total: int) -> str:
    if not worse:
        return f"{what} no larger at all {total} k"
    where = f"k = {worse[0]}" if len(worse) == 1 else f"k = {worse[0]} … {worse[-1]}"
    return f"{what} no larger at {total - len(worse)} of {total} k (larger within {where})"
