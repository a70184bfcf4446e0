"""The published results say what the code says."""

import inspect
from pathlib import Path

import pytest

from reproduction.report import judges
from reproduction.report.claims import CLAIMS

DOCS = Path(__file__).parents[3] / "docs" / "reproduction"


@pytest.mark.parametrize("name", ["README.md", "verdict.md"])
def test_every_claim_is_in_the_published_verdict(name):
    """In the same words, with the same place."""
    text = (DOCS / name).read_text(encoding="utf-8")
    assert all(f"| “{claim.text}” " in text and claim.place in text for claim in CLAIMS)
    if name == "verdict.md":
        assert all(claim.rule in text for claim in CLAIMS)


def test_every_judge_has_a_claim():
    """claims.md names every public function of judges.py, in the same order."""
    functions = inspect.getmembers(judges, lambda each: inspect.isfunction(each) and each.__module__ == judges.__name__)
    public = [each for name, each in functions if not name.startswith("_")]
    assert [claim.judge for claim in CLAIMS] == sorted(public, key=lambda each: each.__code__.co_firstlineno)
