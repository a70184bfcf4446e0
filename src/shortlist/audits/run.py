"""The audit: every check, for one mechanism or for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from shortlist.audits.cases import Case, list_cases
from shortlist.audits.frequencies import (
    ALARM,
    MOST_MORE,
    Frequencies,
    Independence,
    check_frequencies,
    check_independence,
)
from shortlist.audits.privacy_loss import (
    FAILURE,
    Enumeration,
    LowerBound,
    bound_epsilon,
    enumerate_losses,
    find_far_pair,
)
from shortlist.audits.report import AuditReport, Finding, Result
from shortlist.audits.stated import LAWS
from shortlist.audits.tables import check_tables
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, is_secure, read_bits
from shortlist.mechanisms import Mechanism
from shortlist.privacy.numbers import Real, quote, write_exact

DEFAULT_TRIALS = 5000

_FEWEST, _MOST = 1000, 10**7
_RELATIONS = ("add-remove", "replace")
_SAMPLES: dict[str, dict[str, Any]] = {
    "frequencies": {"k": 2},
    "frequencies, replace": {"k": 3, "relation": "replace"},
    "frequencies of draw_many": {"k": 1, "many": True},
}
"""What is sampled, by the name of the check. Together they have both relations and several k."""


def audit(
    mechanism: str | Mechanism | Sequence[str] | None = None,
    *,
    epsilon: Real = 1,
    trials: int = DEFAULT_TRIALS,
    tables: bool = True,
    bits: Bits | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> AuditReport:
    """Check on this machine that mechanisms do what they promise, and that one person cannot change too much.

    Five checks are made. (1) The exact law is enumerated on small histograms and all their neighbours: the largest
    privacy loss is compared with epsilon, or the hockey-stick divergence with delta, and Rényi divergences with rho.
    (2) Outputs of the real code are drawn, one by one and many at once, and their frequencies are tested against that
    law and against laws with an epsilon that is 30 % off. (3) Draws are compared with each other. (4) Samples alone
    bound epsilon from below; the bound must not exceed epsilon. (5) Random tables are counted with and without one
    hostile person, for a domain and without one, on every engine that is installed.

    `mechanism` is a name, a list of names or an object; without it, all that may make secure releases are checked.
    `trials` is how often each sample draws; checks that need more draw up to 8 times as often. A check that could not
    have noticed an error is `not decided`, and then the audit is, too. Without `bits`, the operating system's
    randomness is used.

    >>> report = audit("subset", trials=2000, tables=False)
    >>> report.verdict
    'PASS: 9 checks passed'
    """
    count = _read_trials(trials)
    cases = list_cases(mechanism, epsilon)
    findings: list[Finding] = []
    for case in cases:
        findings += _try_case(case, count, bits, progress)
    if tables:
        findings += check_tables(progress)
    return AuditReport(
        made=datetime.now(UTC),
        epsilon=cases[0].epsilon,
        trials=count,
        findings=tuple(findings),
        secure=is_secure(read_bits(bits)),
    )


def check_case(
    case: Case, trials: int, bits: Bits | None = None, progress: Callable[[str], None] = lambda step: None
) -> Iterator[Finding]:
    """Check one mechanism: its stated law, and what it draws."""
    if case.kind.name not in LAWS:
        found = "no law of it is stated here"
        yield Finding(subject=str(case), check="privacy loss", result=Result.NOT_RUN, found=found)
        return
    telling = []
    for relation in _RELATIONS:
        progress(f"{case}: enumerating all neighbours ({relation})")
        enumeration = enumerate_losses(case, relation)
        telling.append(enumeration.telling)
        yield _describe_loss(case, relation, enumeration)
    for name, options in _SAMPLES.items():
        progress(f"{case}: comparing {name} with the law")
        yield _describe_frequencies(case, name, check_frequencies(case, trials, bits, **options), trials)
    progress(f"{case}: comparing draws with each other")
    yield _describe_independence(case, check_independence(case, trials, bits))
    for pair in (*telling, find_far_pair(case, trials)):
        progress(f"{case}: bounding epsilon from samples")
        yield _describe_bound(case, bound_epsilon(case, pair, trials, bits))


def _try_case(case: Case, trials: int, bits: Bits | None, progress: Callable[[str], None]) -> Iterator[Finding]:
    """Check one mechanism. If it breaks down, that is a failure."""
    try:
        yield from check_case(case, trials, bits, progress)
    except Exception as error:
        found = f"the mechanism broke down ({type(error).__name__})"
        yield Finding(subject=str(case), check="drawing", result=Result.FAIL, found=found)


def _describe_loss(case: Case, relation: str, seen: Enumeration) -> Finding:
    promise = seen.promise
    details: dict[str, Any] = {"epsilon": write_exact(promise.epsilon), "neighbours": relation, "pairs": seen.pairs}
    if not promise.delta:
        words = f"loss {seen.loss:.4f}, promised epsilon {write_exact(promise.epsilon)}"
        details |= {"loss": seen.loss}
    else:
        words = f"divergence {seen.divergence:.4f}, promised delta {write_exact(promise.delta)}"
        details |= {"divergence": seen.divergence, "delta": write_exact(promise.delta)}
    if promise.rho is not None:
        words += f"; rho {seen.rho:.4f}, promised {float(promise.rho):.4f}"
        details |= {"rho": seen.rho, "promised_rho": write_exact(promise.rho)}
    return Finding(
        subject=str(case),
        check="privacy loss",
        result=Result.read(seen.private),
        found=f"largest {words} ({seen.pairs:,} pairs, {relation})",
        details=details,
    )


def _describe_frequencies(case: Case, name: str, seen: Frequencies, trials: int) -> Finding:
    verdict = {
        True: "as stated",
        False: "the outputs do not follow the stated law",
        None: f"too few draws to notice an epsilon that is 30 % off: {_ask_for(seen.needed / MOST_MORE, trials)}",
    }[seen.passed]
    return Finding(
        subject=str(case),
        check=name,
        result=Result.read(seen.passed),
        found=f"{verdict} ({seen.trials:,} draws, p = {seen.right:.2g}; {seen.wrong:.1g} at 30 % off)",
        details={
            "trials": seen.trials,
            "histogram": list(seen.histogram),
            "k": seen.k,
            "p": seen.right,
            "p_30_percent_off": seen.wrong,
            "threshold": ALARM,
        },
    )


def _describe_independence(case: Case, seen: Independence) -> Finding:
    verdict = {
        True: "draws do not depend on each other",
        False: "draws depend on each other",
        None: "too few draws to notice that draws are repeated: pass more trials",
    }[seen.passed]
    return Finding(
        subject=str(case),
        check="independence",
        result=Result.read(seen.passed),
        found=f"{verdict} ({seen.tests} tests, p = {seen.p:.2g}; {seen.repeated:.1g} if draws were repeated)",
        details={"trials": seen.trials, "p": seen.p, "p_repeated": seen.repeated, "threshold": ALARM},
    )


def _describe_bound(case: Case, seen: LowerBound) -> Finding:
    pair, shown = seen.pair, max(seen.epsilon, 0.0)
    power = f"they would show {seen.power}" if seen.power else "too few draws to show more: pass more trials"
    return Finding(
        subject=str(case),
        check="lower bound",
        result=Result.read(seen.passed),
        found=f"samples prove epsilon ≥ {shown:.4f}, promised {write_exact(seen.promised)}; {power} "
        f"({seen.trials:,} draws, {_write(pair.here)} against {_write(pair.there)}, {pair.relation})",
        details={
            "bound": shown,
            "epsilon": write_exact(seen.promised),
            "confidence": f"1 - {FAILURE}",
            "would_show": seen.power,
            "trials": seen.trials,
            "here": list(pair.here),
            "there": list(pair.there),
            "k": pair.k,
            "neighbours": pair.relation,
        },
    )


def _ask_for(trials: float, tried: int) -> str:
    """Say how many trials are needed."""
    if math.isinf(trials):
        return "no number of draws is enough at this epsilon"
    return f"pass {max(math.ceil(trials), 2 * tried):,} trials"


def _write(histogram: tuple[int, ...]) -> str:
    return ", ".join(map(str, histogram))


def _read_trials(trials: Any) -> int:
    if isinstance(trials, bool) or not isinstance(trials, int) or not _FEWEST <= trials <= _MOST:
        raise ParameterError(
            "{trials} must be a whole number from {fewest} to {most}",
            "not {value}",
            fewest=_FEWEST,
            most=_MOST,
            value=quote(trials),
        )
    return trials
