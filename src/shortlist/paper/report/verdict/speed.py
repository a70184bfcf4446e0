"""The claims about running time. Stand-ins count here, for time depends on the size and hardly on the shape."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from shortlist.paper.experiment.measure import Row
from shortlist.paper.experiment.results import Results
from shortlist.paper.report.verdict.finding import FEWEST, Finding, judged, overlap, pairs, ratios, short, spread

FASTJOINT, JOINT, PNF_PEEL, CDP_PEEL = (f"published-{law}" for law in ("fastjoint", "joint", "pnf-peel", "cdp-peel"))
_NO_SWEEP = f"the sweep was not run with {FEWEST} trials or more"
_LARGE = 100_000
_CONSPICUOUS = 0.2


def fastjoint_beats_joint(results: Results) -> Finding:
    """Section 5: 10 to 100 times faster across various data sets."""
    claim = "FastJoint is 10 to 100 times faster than Joint"
    test = "median over k of Joint's time over FastJoint's is at least 10 on every data set"
    found = _time_ratios(results, JOINT, FASTJOINT)
    if not found:
        return Finding.untested(claim, test, _NO_SWEEP)
    holds = all(median(values) >= 10 for values in found.values())
    measured = _listed(results, found) + "; against the Joint of this package, which sorts once and is vectorised"
    return Finding(claim=claim, test=test, measured=measured, holding=judged(holds))


def peeling_once_is_faster(results: Results) -> Finding:
    """Section 5: FastJoint is slower than CDP-Peel, as is expected of O(d)."""
    claim = "FastJoint is slower than CDP-Peel"
    test = "median over k of FastJoint's time over CDP-Peel's is above 1 on every data set"
    found = _time_ratios(results, FASTJOINT, CDP_PEEL)
    if not found:
        return Finding.untested(claim, test, _NO_SWEEP)
    holds = all(median(values) > 1 for values in found.values())
    return Finding(claim=claim, test=test, measured=_listed(results, found), holding=judged(holds))


def jumps_come_from_the_sequence_step(results: Results) -> Finding:
    """Section 5: jumps of Joint's time on games and food come from a sequence step in O(dk²)."""
    claim = "Jumps in Joint's time come from its sequence step"
    test = "the step takes a conspicuous part (20 %) of the time at some k, and without it neighbouring k differ less"
    shares, gains = {}, []
    for name in results.datasets:
        rows = [row for _, row in results.sweep(name, JOINT, "k")]
        if len(rows) > 2:
            shares[name] = max(1 - row.quartiles("before_sequence")[1] / row.quartiles("seconds")[1] for row in rows)
            gains.append(_largest_jump(rows, "seconds") / _largest_jump(rows, "before_sequence"))
    if not shares:
        return Finding.untested(claim, test, _NO_SWEEP)
    said = ", ".join(f"{results.title(name)} {100 * share:.0f} %" for name, share in shares.items())
    measured = f"largest part of the time at any k: {said}"
    if max(shares.values()) < _CONSPICUOUS:
        why = f"{measured}; the Joint of this package has that step in O(d), so it cannot jump"
        return Finding.untested(claim, test, why)
    measured += f"; the largest jump between neighbouring k is {short(max(gains))} times as large with the step"
    return Finding(claim=claim, test=test, measured=measured, holding=judged(max(gains) > 1.25))


def pnf_peel_wins_on_small_data_only(results: Results) -> Finding:
    """Section 5: on small data FastJoint can be slower than PNF-Peel; on food it is faster."""
    claim = "PNF-Peel is faster than FastJoint on small data and slower on large data"
    test = "median over k of FastJoint's time over PNF-Peel's: above 1 on the smallest data set, below 1 on the largest"
    found = _time_ratios(results, FASTJOINT, PNF_PEEL)
    if len(found) < 2:
        return Finding.untested(claim, test, "fewer than two data sets were measured")
    smallest, *_, largest = found
    measured = _listed(results, found)
    faster_at_last = median(found[largest]) < 1
    size = max(row.d for row in results.measured.values())
    if median(found[smallest]) > 1 and not faster_at_last and size < _LARGE:
        why = f"{measured}; the small half is seen, but nothing here is as large as food (d = 166,049)"
        return Finding.untested(claim, test, why)
    holds = median(found[smallest]) > 1 and faster_at_last
    return Finding(claim=claim, test=test, measured=measured, holding=judged(holds))


def time_falls_as_epsilon_grows(results: Results) -> Finding:
    """Section 5 and Theorem 4.1: FastJoint costs O(d + k²/ε·ln d)."""
    claim = "FastJoint's time falls as ε grows"
    test = "no step to a larger ε takes 10 % more time, and ε = ¼ takes over 1.5 times as long as ε = 4"
    said, holds = [], True
    for name in results.datasets:
        times = [row.quartiles("seconds")[1] for _, row in results.sweep(name, FASTJOINT, "epsilon")]
        if len(times) > 1:
            falls = all(later <= 1.1 * earlier for earlier, later in pairwise(times))
            holds = holds and falls and times[0] > 1.5 * times[-1]
            said.append(f"{results.title(name)} {short(times[0] / times[-1])}×")
    if not said:
        return Finding.untested(claim, test, _NO_SWEEP)
    measured = "time at ε = ¼ over time at ε = 4: " + ", ".join(said)
    return Finding(claim=claim, test=test, measured=measured, holding=judged(holds))


def beta_hardly_matters(results: Results) -> Finding:
    """Section 5: neither time nor error of FastJoint varies noticeably with β."""
    claim = "β hardly matters to FastJoint"
    test = "over all β, medians of time and of ℓ∞ + 1 stay within 25 %, or the quartiles overlap"
    said, holds = [], True
    for name in results.datasets:
        rows = [row for _, row in results.sweep(name, FASTJOINT, "beta")]
        if len(rows) > 1:
            time, time_steady = _range_of(rows, "seconds", pad=0)
            error, error_steady = _range_of(rows, "linf", pad=1)
            holds = holds and time_steady and error_steady
            said.append(f"{results.title(name)} {short(time)}× and {short(error)}×")
    if not said:
        return Finding.untested(claim, test, _NO_SWEEP)
    measured = "largest over smallest median of time and of error: " + ", ".join(said)
    return Finding(claim=claim, test=test, measured=measured, holding=judged(holds))


def _time_ratios(results: Results, one: str, other: str) -> dict[str, list[float]]:
    found = {name: ratios(pairs(results, name, one, other), "seconds") for name in results.datasets}
    return {name: values for name, values in found.items() if values}


def _listed(results: Results, found: dict[str, list[float]]) -> str:
    return ", ".join(f"{results.title(name)} {spread(values)}" for name, values in found.items())


def _largest_jump(rows: list[Row], measure: str) -> float:
    """The largest factor between times at neighbouring k, beyond growth in proportion to k."""
    per_k = [row.quartiles(measure)[1] / row.k for row in rows]
    factors = [later / earlier for earlier, later in pairwise(per_k)]
    return max(max(factor, 1 / factor) for factor in factors)


def _range_of(rows: list[Row], measure: str, *, pad: int) -> tuple[float, bool]:
    """The largest over the smallest median, and whether that is little."""
    ordered = sorted(rows, key=lambda row: row.quartiles(measure)[1])
    [factor] = ratios([(ordered[-1], ordered[0])], measure, pad=pad)
    return factor, factor <= 1.25 or overlap(ordered[0], ordered[-1], measure)
