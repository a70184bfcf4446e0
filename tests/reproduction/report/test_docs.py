"""The published results say what the code says."""

import inspect
import re
from pathlib import Path

import pytest

from reproduction.report import judges
from reproduction.report.claims import CLAIMS

DOCS = Path(__file__).parents[3] / "docs" / "reproduction"
PROGRAMS = (r"FastJoint \(released\)", r"fastjoint \(ours\)")
VERDICTS = ("holds", "holds in part", "does not hold")


@pytest.mark.parametrize("name", ["README.md", "verdict.md"])
def test_every_claim_is_in_the_published_verdict(name):
    """In the same words, with the same place."""
    text = (DOCS / name).read_text(encoding="utf-8")
    assert all(f"“{claim.text}”" in text and claim.place in text for claim in CLAIMS)
    if name == "verdict.md":
        assert all(claim.rule in text for claim in CLAIMS)


def test_every_judge_has_a_claim():
    """claims.md names every public function of judges.py, in the same order."""
    functions = inspect.getmembers(judges, lambda each: inspect.isfunction(each) and each.__module__ == judges.__name__)
    public = [each for name, each in functions if not name.startswith("_")]
    assert [claim.judge for claim in CLAIMS] == sorted(public, key=lambda each: each.__code__.co_firstlineno)


def test_the_table_from_the_paper_to_the_code_is_true():
    """Every file that it names exists, and every function, class and test beside a file is defined there."""
    page = DOCS.parents[1] / "reproduction" / "README.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    named = 0
    for path, after in re.findall(r"\]\(([^)]+)\)([^\[|]*)", "\n".join(rows)):
        assert (page.parent / path).is_file(), path
        for name in re.findall(r"`(\w+)`", after):
            named += 1
            assert re.search(rf"^ *(def|class) {name}\b", (page.parent / path).read_text(), re.MULTILINE), (path, name)
    assert named > 40


def test_the_front_page_says_what_the_report_says():
    """The numbers of claims, and how many times as fast our fastjoint is as the authors' at k = 100."""
    front = " ".join((DOCS.parents[1] / "README.md").read_text(encoding="utf-8").split())
    report = (DOCS / "README.md").read_text(encoding="utf-8")
    holds, part, no = (int(re.search(rf"^\| {name} \| (\d+) ", report, re.MULTILINE)[1]) for name in VERDICTS)
    claims = f"{holds} hold for the released programs and {part} hold in part"
    assert not no
    assert f"Of its {len(CLAIMS)} claims, {claims}" in front
    theirs, ours = (re.findall(rf"^\| {name} \|(.*)\|$", report, re.MULTILINE)[-1].split("|") for name in PROGRAMS)
    factors = [float(one.replace(",", "")) / float(other) for one, other in zip(theirs, ours, strict=True)]
    assert f"{min(factors):.0f} to {max(factors):.0f} times as fast as with the authors' program" in front
