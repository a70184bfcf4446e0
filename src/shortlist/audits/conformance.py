"""The conformance suite: exact laws of all mechanisms on small histograms, as JSON for other implementations.

docs/conformance.md describes the format. The laws are those that the mechanisms state by brute force.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flint import arb

from shortlist.audits.cases import Case, list_cases
from shortlist.exact.balls import use_precision
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.stated import Histogram, collect_law, neighbours
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import Real, write_exact
from shortlist.version import __version__

SCHEMA = "shortlist.conformance/1"
DIGITS = 30
"""How many digits of a probability are written after the point. Each is within 10⁻³⁰ of the exact one."""

_BASES: tuple[Histogram, ...] = ((1, 0), (2, 1, 0), (1, 1, 1), (8, 4, 0))
"""Histograms whose neighbours are all in the suite."""
_PRECISION = 256
_REACH = 8
"""How far noisy counts are enumerated beyond the counts. What is left out is stated."""


def write_conformance(epsilon: Real = 1) -> str:
    """Write the suite as JSON text: for each mechanism, relation and k, the laws of histograms and their neighbours.

    >>> import json
    >>> suite = json.loads(write_conformance())
    >>> joint = next(case for case in suite["cases"] if case["mechanism"] == "joint")
    >>> joint["histograms"][0]
    {'counts': [1, 0], 'law': [{'items': [0], 'probability': '0.622...'}, {'items': [1], ...}], 'left_out': '0.0...'}
    """
    cases = [made for case in list_cases(None, epsilon) for made in _describe_case(case)]
    head = json.dumps({"schema": SCHEMA, "version": __version__, "error": f"1e-{DIGITS}"})
    lines = ",\n".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in cases)
    return f'{head[:-1]}, "cases": [\n{lines}\n]}}\n'


def _describe_case(case: Case) -> Iterator[dict[str, Any]]:
    for relation in Neighbours:
        for k in range(1, case.fit(1 if case.noisy else 2) + 1):
            mechanism = case.build(k, relation)
            promise, rate = mechanism.guarantee, None if case.noisy else mechanism.round_rate
            cap = case.options.get("votes_per_person")
            pairs = [(base, each) for base in _BASES for each in neighbours(base, relation, cap) if each != base]
            places = {each: place for place, each in enumerate(dict.fromkeys(each for pair in pairs for each in pair))}
            yield {
                "mechanism": mechanism.name,
                "parameters": {name: _write(value) for name, value in mechanism.parameters.items()},
                "round_rate": None if rate is None else write_exact(rate),
                "ordered": not mechanism.unordered,
                "guarantee": {
                    name: _write(getattr(promise, name)) for name in ("epsilon", "delta", "rho", "rho_delta")
                },
                "histograms": [{"counts": list(each), **_describe_law(mechanism, each)} for each in places],
                "neighbours": [[places[one], places[other]] for one, other in pairs],
            }


def _describe_law(mechanism: Mechanism, histogram: Histogram) -> dict[str, Any]:
    rows = []
    with use_precision(_PRECISION):
        law = collect_law(mechanism, histogram, reach=_REACH)
        left_out = 1 - sum(law.values(), arb(0))
        for output, chance in law.items():
            row: dict[str, Any] = {"items": list(output.items), "probability": _write_decimal(chance)}
            if output.counts is not None:
                row["counts"] = list(output.counts)
            if output.chosen is not None:
                row["chosen"] = output.chosen
            rows.append(row)
        return {"law": rows, "left_out": _write_decimal(left_out)}


def _write_decimal(chance: arb) -> str:
    """Write a probability as a decimal that is within 10⁻³⁰ of it."""
    scaled = chance * 10**DIGITS
    whole = int(str((scaled.mid() + arb(0.5)).floor().unique_fmpz()))
    assert abs(scaled - whole) < 1, "the ball is too wide"
    return f"{whole // 10**DIGITS}.{whole % 10**DIGITS:0{DIGITS}d}"


def _write(value: Any) -> Any:
    return value if value is None or isinstance(value, int | str | bool) else write_exact(value)
