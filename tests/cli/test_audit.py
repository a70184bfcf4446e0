"""`shortlist audit`: a summary to file, and an exit code."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shortlist.audits.cases import Case, Finding, Result
from shortlist.cli.app import app
from shortlist.mechanisms import MECHANISMS, Joint

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFactor(Joint):
    """A factor 2 is lost: it draws with twice its epsilon."""

    def _prepare(self, levels: Any) -> Any:
        return Joint(k=self.k, epsilon=2 * self.epsilon, neighbours=str(self.neighbours)).prepare(levels)


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_the_exit_code_says_whether_all_checks_passed(
    right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mechanism that draws with another epsilon fails, and the report that is written says so."""
    if not right:
        monkeypatch.setattr("shortlist.mechanisms.joint.Joint", LostFactor)
    output = tmp_path / "audit.json"
    arguments = ["audit", "--mechanism", "joint", "--trials", "2000", "--output", str(output)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == (0 if right else 1)
    assert ("PASS: 13 checks passed" if right else "FAIL: ") in done.output
    stored = json.loads(output.read_text())
    assert stored["passed"] is right
    results = {each["check"]: each["result"] for each in stored["findings"]}
    assert results["frequencies"] == ("pass" if right else "fail")
    assert "wrote" in done.stderr


def test_every_mechanism_that_is_named_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option may be repeated. Only the last one was checked before. A name that is given twice counts once."""
    monkeypatch.setattr("shortlist.audits.run.check_case", lambda case, *rest: [describe(case)])
    named = [each for name in ("subset", "joint", "subset") for each in ("--mechanism", name)]
    done = CliRunner().invoke(app, ["audit", *named])
    assert done.exit_code == 0, done.output
    assert [line for line in done.output.splitlines() if line in MECHANISMS] == ["subset", "joint"]
    wrong = CliRunner().invoke(app, ["audit", "--mechanism", "subset", "--mechanism", "jiont"])
    assert wrong.exit_code == 2
    assert "did you mean 'joint'" in wrong.stderr


def describe(case: Case) -> Finding:
    """A finding that names the case alone."""
    return Finding(subject=str(case), check="named", result=Result.PASS, found="it is here")


def test_what_was_not_decided_has_an_exit_code_of_its_own() -> None:
    """Too few draws for a small epsilon: neither a pass nor a failure."""
    done = CliRunner().invoke(app, ["audit", "--mechanism", "cdp-peel", "--epsilon", "0.05", "--trials", "1000"])
    assert done.exit_code == 3
    assert "NOT DECIDED" in done.output
    assert "fail" not in done.output.lower().replace("failed", "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--output", "audit.txt"], "--output must end in .json"),
        (["--epsilon", "100"], "--epsilon must be from 0.01 to 10"),
        (["--trials", "5"], "--trials must be a whole number from 1000"),
        (["--mechanism", "jiont"], "did you mean 'joint'"),
    ],
)
def test_errors_are_in_the_words_of_the_command_line(arguments: list[str], text: str) -> None:
    """Options are named as they are typed, before anything is computed."""
    done = CliRunner().invoke(app, ["audit", *arguments])
    assert done.exit_code == 2
    assert text in done.stderr
