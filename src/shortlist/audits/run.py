"""The audit: every check, for one mechanism or for all, and the report of what was found."""

from __future__ import annotations

import json
import platform
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import distributions
from itertools import groupby
from typing import Any

from shortlist.atomic_files import PathLike, write_whole
from shortlist.audits.cases import Case, Finding, Result, list_cases
from shortlist.audits.extras import check_extras
from shortlist.audits.frequencies import check_frequencies, check_independence
from shortlist.audits.privacy_loss import (
    Pair,
    bound_epsilon,
    enumerate_family,
    enumerate_losses,
    enumerate_weights,
    find_far_pair,
)
from shortlist.audits.tables import check_tables
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, is_secure, read_bits
from shortlist.mechanisms import MECHANISMS, Mechanism, is_own
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import Real, quote, write_exact
from shortlist.version import __version__

SCHEMA = "shortlist.audit/2"

_PACKAGES = ("numpy", "python-flint", "pyarrow", "duckdb", "pandas", "polars", "ibis-framework", "pyspark")
_WIDTH = 78
"""The report fits a terminal of 80 columns, and a mail."""
_NOTE = (
    "An audit checks the code that is installed, with the randomness of this machine. It can find errors; it cannot "
    "prove that there are none. The proofs are in the files *.proof.md beside the code. docs/trust.md says what "
    "is promised and what is not."
)

DEFAULT_TRIALS = 5000

_FEWEST, _MOST = 1000, 10**7
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

    Six checks are made. (1) The exact law is enumerated on small histograms and all their neighbours: the largest
    privacy loss is compared with epsilon, or the hockey-stick divergence with delta, and Rényi divergences with rho,
    for one list, for the lists of two groups, and for votes with weights.
    (2) Outputs of the real code are drawn, one by one and many at once, and their frequencies are tested against that
    law and against laws with an epsilon that is 30 % off. (3) Draws are compared with each other. (4) Samples alone
    bound epsilon from below; the bound must not exceed epsilon. (5) What may be bought beside a list is enumerated and
    drawn: a private cap, noisy numbers of people, and noisy counts. (6) Random tables are counted with and without one
    hostile person, for a domain and without one, on every engine that is installed.

    `mechanism` is a name, a list of names or an object; without it, all of this library are checked, and (5). Of a
    mechanism that states no law, only (4) is checked, in a black box: what it would show is found by drawing from the
    mechanism with a larger epsilon.
    `trials` is how often each sample draws; checks that need more draw up to 8 times as often. A check that could not
    have noticed an error is `not decided`, and then the audit is, too. Without `bits`, the operating system's
    randomness is used.

    >>> report = audit("joint", trials=2000, tables=False)
    >>> report.verdict
    'PASS: 13 checks passed'
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or not _FEWEST <= trials <= _MOST:
        raise ParameterError(f"`trials` must be a whole number from {_FEWEST} to {_MOST}", f"not {quote(trials)}")
    cases = list_cases(mechanism, epsilon)
    findings: list[Finding] = []
    checks = [(str(case), check_case(case, trials, bits, progress)) for case in cases]
    if mechanism is None:
        checks.append(("what is bought beside a list", check_extras(trials, bits, progress)))
    for subject, found in checks:
        try:
            for finding in found:
                findings.append(finding)
        except Exception as error:  # a mechanism that breaks down fails
            text = f"it broke down ({type(error).__name__})"
            findings.append(Finding(subject=subject, check="drawing", result=Result.FAIL, found=text))
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
        found = "it states no law: samples alone are checked"
        yield Finding(subject=str(case), check="privacy loss", result=Result.NOT_RUN, found=found)
        for pair in _find_pairs(case):
            progress(f"{case}: bounding epsilon from samples")
            yield bound_epsilon(case, pair, trials, bits)
        return
    telling = []
    for relation in Neighbours:
        progress(f"{case}: enumerating all neighbours ({relation})")
        finding, pair = enumerate_losses(case, relation)
        telling.append(pair)
        yield finding
        if is_own(case.kind) and not (case.noisy and case.delta):
            yield enumerate_family(case, relation)
        if is_own(case.kind) and case.needs_domain and not case.delta and "rho" not in case.options:
            yield enumerate_weights(case, relation)
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
    for relation in Neighbours:
        yield enumerate_losses(guide, relation, largest_d=3)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """All findings of one audit, on one machine, at one time."""

    made: datetime
    epsilon: Fraction
    trials: int
    findings: tuple[Finding, ...]
    secure: bool = True
    """Whether the randomness was that of the operating system."""

    @property
    def result(self) -> Result:
        """The whole result: fail if a check failed; pass if some were run, and all of those passed."""
        results = {each.result for each in self.findings}
        if Result.FAIL in results:
            return Result.FAIL
        return Result.PASS if Result.PASS in results and Result.NOT_DECIDED not in results else Result.NOT_DECIDED

    @property
    def passed(self) -> bool:
        """Whether checks were run, and all of them passed."""
        return self.result is Result.PASS

    @property
    def verdict(self) -> str:
        """Say in one sentence how the audit ended."""
        results = [each.result for each in self.findings]
        words = {Result.PASS: "checks passed", Result.FAIL: "failed"}
        counts = ", ".join(f"{results.count(each)} {words.get(each, each)}" for each in Result if each in results)
        return f"{self.result.upper()}: {counts}"

    def __str__(self) -> str:
        """The summary to file: where and when, each finding, and the verdict."""
        lines = [
            f"Audit of shortlist {__version__} on Python {platform.python_version()}",
            f"{self.made:%Y-%m-%d %H:%M} UTC, {platform.system()} {platform.machine()}",
            f"epsilon {write_exact(self.epsilon)}, {self.trials:,} draws or more for each sample",
            self._source,
        ]
        for subject, findings in groupby(self.findings, key=lambda each: each.subject):
            lines += ["", subject]
            for each in findings:
                text = f"  {each.result:11} {each.check}: {each.found}"
                lines += textwrap.wrap(text, _WIDTH, subsequent_indent=" " * 14, break_on_hyphens=False)
        return "\n".join([*lines, "", *textwrap.wrap(_NOTE, _WIDTH), "", self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        return {
            "schema": SCHEMA,
            "result": str(self.result),
            "passed": self.passed,
            "verdict": self.verdict,
            "made": self.made.isoformat(timespec="seconds"),
            "version": __version__,
            "python": platform.python_version(),
            "system": platform.system(),
            "machine": platform.machine(),
            "packages": {each.name: each.version for each in distributions() if each.name in _PACKAGES},
            "epsilon": write_exact(self.epsilon),
            "trials": self.trials,
            "randomness": self._source,
            "findings": [
                {"subject": each.subject, "check": each.check, "result": str(each.result), "found": each.found}
                | dict(each.details)
                for each in self.findings
            ],
        }

    @property
    def _source(self) -> str:
        return "randomness of the operating system" if self.secure else "randomness that the caller gave"

    def to_json(self, path: PathLike, *, force: bool = False) -> None:
        """Write the report to a file, whole or not at all."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        write_whole(path, text, force=force)
