"""The audit: every check, for one mechanism or for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from shortlist.audits.cases import Case, list_cases
from shortlist.audits.frequencies import check_frequencies, check_independence
from shortlist.audits.privacy_loss import Pair, bound_epsilon, enumerate_losses, find_far_pair
from shortlist.audits.report import AuditReport, Finding, Result
from shortlist.audits.tables import check_tables
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, is_secure, read_bits
from shortlist.mechanisms import MECHANISMS, Mechanism
from shortlist.privacy.numbers import Real, quote

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

    `mechanism` is a name, a list of names or an object; without it, all of this library are checked. Of a mechanism
    that states no law, only (4) is checked, in a black box: what it would show is found by drawing from the mechanism
    with a larger epsilon.
    `trials` is how often each sample draws; checks that need more draw up to 8 times as often. A check that could not
    have noticed an error is `not decided`, and then the audit is, too. Without `bits`, the operating system's
    randomness is used.

    >>> report = audit("subset", trials=2000, tables=False)
    >>> report.verdict
    'PASS: 9 checks passed'
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or not _FEWEST <= trials <= _MOST:
        raise ParameterError(f"`trials` must be a whole number from {_FEWEST} to {_MOST}", f"not {quote(trials)}")
    cases = list_cases(mechanism, epsilon)
    findings: list[Finding] = []
    for case in cases:
        try:
            for finding in check_case(case, trials, bits, progress):
                findings.append(finding)
        except Exception as error:  # a mechanism that breaks down fails
            found = f"the mechanism broke down ({type(error).__name__})"
            findings.append(case.report("drawing", Result.FAIL, found))
    if tables:
        findings += check_tables(progress)
    return AuditReport(
        made=datetime.now(UTC),
        epsilon=cases[0].epsilon,
        trials=trials,
        findings=tuple(findings),
        secure=is_secure(read_bits(bits)),
    )


def check_case(
    case: Case, trials: int, bits: Bits | None = None, progress: Callable[[str], None] = lambda step: None
) -> Iterator[Finding]:
    """Check one mechanism: its stated law, and what it draws."""
    if not case.states_law:
        yield case.report("privacy loss", Result.NOT_RUN, "it states no law: samples alone are checked")
        for pair in _find_pairs(case):
            progress(f"{case}: bounding epsilon from samples")
            yield bound_epsilon(case, pair, trials, bits)
        return
    telling = []
    for relation in _RELATIONS:
        progress(f"{case}: enumerating all neighbours ({relation})")
        finding, pair = enumerate_losses(case, relation)
        telling.append(pair)
        yield finding
    for name, options in _SAMPLES.items():
        progress(f"{case}: comparing {name} with the law")
        yield check_frequencies(case, trials, bits, name=name, **options)
    progress(f"{case}: comparing draws with each other")
    yield check_independence(case, trials, bits)
    for pair in (*telling, find_far_pair(case, trials)):
        progress(f"{case}: bounding epsilon from samples")
        yield bound_epsilon(case, pair, trials, bits)


def _find_pairs(case: Case) -> Iterator[Pair]:
    """Find pairs of neighbours for a mechanism without a law: those that tell a mechanism like it apart best."""
    like, options = ("joint", {}) if case.needs_domain else ("limited-domain", {"delta": case.delta or Fraction(1, 5)})
    guide = Case(kind=MECHANISMS[like], epsilon=case.epsilon, options=options)
    for relation in _RELATIONS:
        yield enumerate_losses(guide, relation, largest_d=3)[1]
