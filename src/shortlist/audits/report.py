"""The report of an audit: what was checked, what was found, and whether it is as promised."""

from __future__ import annotations

import os
import platform
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from typing import Any

from shortlist.atomic_files import write_whole
from shortlist.privacy.numbers import write_exact
from shortlist.version import __version__

SCHEMA = "shortlist.audit/1"

_PACKAGES = ("numpy", "python-flint", "pyarrow", "duckdb", "pandas", "polars", "ibis-framework", "pyspark")
_NOTE = (
    "An audit checks the code that is installed, with the randomness of this machine. It can find errors; it cannot "
    "prove that there are none. The proofs are in the files *.proof.md beside the code. docs/trust.md says what "
    "is promised and what is not."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    subject: str
    """The mechanism, or the engine, that was checked."""
    check: str
    passed: bool | None
    """None if the check was not run."""
    found: str
    """What was found, next to its limit, in words."""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """pass, fail, or not run."""
        return "not run" if self.passed is None else "pass" if self.passed else "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """All findings of one audit, on one machine, at one time."""

    made: datetime
    epsilon: Fraction
    trials: int
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether checks were run and none of them failed."""
        results = [each.passed for each in self.findings]
        return False not in results and True in results

    @property
    def verdict(self) -> str:
        """Say in one sentence how the audit ended."""
        results = [each.result for each in self.findings]
        counts = ", ".join(f"{results.count(name)} {words}" for name, words in _COUNTED.items() if name in results)
        return f"{'PASS' if self.passed else 'FAIL'}: {counts}"

    def __str__(self) -> str:
        """The summary to file: where and when, each finding, and the verdict."""
        lines = [
            f"Audit of shortlist {__version__} on Python {platform.python_version()}",
            f"{self.made:%Y-%m-%d %H:%M} UTC, {platform.system()} {platform.machine()}",
            f"epsilon {write_exact(self.epsilon)}, {self.trials:,} draws for each sample",
        ]
        for subject, findings in groupby(self.findings, key=lambda each: each.subject):
            lines += ["", subject]
            for each in findings:
                text = f"  {each.result:7} {each.check}: {each.found}"
                lines += textwrap.wrap(text, 100, subsequent_indent=" " * 10, break_on_hyphens=False)
        return "\n".join([*lines, "", *textwrap.wrap(_NOTE, 78), "", self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        return {
            "schema": SCHEMA,
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
            "findings": [
                {
                    "subject": each.subject,
                    "check": each.check,
                    "result": each.result,
                    "found": each.found,
                    **each.details,
                }
                for each in self.findings
            ],
        }

    def to_json(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the report to a file, whole or not at all."""
        import json

        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        write_whole(path, lambda file: file.write(text.encode()), force=force)


_COUNTED = {"pass": "checks passed", "fail": "failed", "not run": "not run"}


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
