"""The report of an audit: what was checked, what was found, and whether it is as promised."""

from __future__ import annotations

import os
import platform
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from typing import Any

from shortlist.atomic_files import write_whole
from shortlist.privacy.numbers import write_exact
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


class Result(StrEnum):
    """How a check, or a whole audit, ended."""

    PASS = "pass"
    FAIL = "fail"
    """What was found contradicts the promise."""
    NOT_DECIDED = "not decided"
    """There were too few draws, or too few tables, to notice an error."""
    NOT_RUN = "not run"
    """The check needs something that is not there, and says what."""

    @classmethod
    def read(cls, passed: bool | None) -> Result:
        """Read the answer of a test, which is None if the test had no power."""
        return cls.NOT_DECIDED if passed is None else cls.PASS if passed else cls.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    subject: str
    """The mechanism, or the engine, that was checked."""
    check: str
    result: Result
    found: str
    """What was found, next to its limit, in words."""
    details: Mapping[str, Any] = field(default_factory=dict)


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
        counts = ", ".join(f"{results.count(name)} {words}" for name, words in _COUNTED.items() if name in results)
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
            "packages": {name: found for name in _PACKAGES if (found := _find_version(name))},
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

    def to_json(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the report to a file, whole or not at all."""
        import json

        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        write_whole(path, text, force=force)


_COUNTED = {
    Result.PASS: "checks passed",
    Result.FAIL: "failed",
    Result.NOT_DECIDED: "not decided",
    Result.NOT_RUN: "not run",
}


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
