"""The audit: every check, for one mechanism or for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from shortlist.audits.cases import Case, list_cases
from shortlist.audits.frequencies import ALARM, check_frequencies
from shortlist.audits.lower_bound import FAILURE, bound_epsilon, find_far_pair
from shortlist.audits.privacy_loss import Enumeration, Pair, enumerate_losses
from shortlist.audits.report import AuditReport, Finding
from shortlist.audits.stated import LAWS
from shortlist.audits.tables import check_tables
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits
from shortlist.mechanisms import Mechanism
from shortlist.near_names import suggest_names
from shortlist.privacy.numbers import Real, quote, write_exact

DEFAULT_TRIALS = 5000

_FEWEST, _MOST = 1000, 10**7
_RELATIONS = ("add-remove", "replace")


@suggest_names
def audit(
    mechanism: str | Mechanism | None = None,
    *,
    epsilon: Real = 1,
    trials: int = DEFAULT_TRIALS,
    tables: bool = True,
    bits: Bits | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> AuditReport:
    """Check on this machine that mechanisms do what they promise, and that one person cannot change too much.

    Four checks are made. (1) The exact law is enumerated on small histograms and all their neighbours: the largest
    privacy loss is compared with epsilon, or the hockey-stick divergence with delta. (2) Outputs of the real code
    are drawn, and their frequencies are tested against that law and against laws with an epsilon that is 30 % off.
    (3) Samples alone bound epsilon from below; the bound must not exceed epsilon. (4) Random tables are counted with
    and without one hostile person, for a domain and without one, on every engine that is installed.

    `mechanism` is a name or an object; without it, all that may make secure releases are checked. `trials` is how
    often each sample draws. Without `bits`, the operating system's randomness is used.

    >>> report = audit("subset", trials=1000, tables=False)
    >>> report.passed, [finding.check for finding in report.findings]
    (True, ['privacy loss', 'privacy loss', 'frequencies', 'lower bound', 'lower bound'])
    """
    count = _read_trials(trials)
    cases = list_cases(mechanism, epsilon)
    findings: list[Finding] = []
    for case in cases:
        findings += check_case(case, count, bits, progress)
    if tables:
        findings += check_tables(progress)
    return AuditReport(made=datetime.now(UTC), epsilon=cases[0].epsilon, trials=count, findings=tuple(findings))


def check_case(
    case: Case, trials: int, bits: Bits | None = None, progress: Callable[[str], None] = lambda step: None
) -> Iterator[Finding]:
    """Check one mechanism: its stated law, and what it draws."""
    if case.kind.name not in LAWS:
        yield Finding(subject=str(case), check="privacy loss", passed=None, found="no law of it is stated here")
        return
    telling = []
    for relation in _RELATIONS:
        progress(f"{case}: enumerating all neighbours ({relation})")
        enumeration = enumerate_losses(case, relation)
        telling.append(enumeration.telling)
        yield _describe_loss(case, relation, enumeration)
    progress(f"{case}: comparing frequencies with the law")
    yield _describe_frequencies(case, trials, bits)
    for pair in (telling[0], find_far_pair(case)):
        progress(f"{case}: bounding epsilon from samples")
        yield _describe_bound(case, pair, trials, bits)


def _describe_loss(case: Case, relation: str, seen: Enumeration) -> Finding:
    epsilon = write_exact(case.epsilon)
    if case.delta is None:
        limit, measure = f"epsilon {epsilon}", f"loss {seen.loss:.4f}"
        details: dict[str, Any] = {"loss": seen.loss}
    else:
        limit, measure = f"delta {write_exact(case.delta)}", f"divergence {seen.divergence:.4f}"
        details = {"divergence": seen.divergence, "delta": write_exact(case.delta)}
    return Finding(
        subject=str(case),
        check="privacy loss",
        passed=seen.private,
        found=f"largest {measure}, promised {limit} ({seen.pairs:,} pairs, {relation})",
        details={**details, "epsilon": epsilon, "neighbours": relation, "pairs": seen.pairs},
    )


def _describe_frequencies(case: Case, trials: int, bits: Bits | None) -> Finding:
    seen = check_frequencies(case, trials, bits)
    if seen.right <= ALARM:
        verdict = "the outputs do not follow the stated law"
    elif seen.wrong >= ALARM:
        verdict = "too few draws: an epsilon that is 30 % off would not be noticed"
    else:
        verdict = "as stated"
    return Finding(
        subject=str(case),
        check="frequencies",
        passed=seen.passed,
        found=f"{verdict} (p = {seen.right:.2g}; {seen.wrong:.1g} at 30 % off)",
        details={
            "trials": seen.trials,
            "histogram": list(seen.histogram),
            "k": seen.k,
            "p": seen.right,
            "p_30_percent_off": seen.wrong,
            "threshold": ALARM,
        },
    )


def _describe_bound(case: Case, pair: Pair, trials: int, bits: Bits | None) -> Finding:
    seen = bound_epsilon(case, pair, trials, bits)
    shown = max(seen.epsilon, 0.0)
    return Finding(
        subject=str(case),
        check="lower bound",
        passed=shown <= case.epsilon,
        found=f"samples prove epsilon ≥ {shown:.4f}, promised {write_exact(case.epsilon)} "
        f"({_write(pair.here)} against {_write(pair.there)})",
        details={
            "bound": shown,
            "epsilon": write_exact(case.epsilon),
            "confidence": f"1 - {FAILURE}",
            "trials": seen.trials,
            "here": list(pair.here),
            "there": list(pair.there),
            "k": pair.k,
            "neighbours": pair.relation,
        },
    )


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
