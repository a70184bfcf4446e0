"""The published results say what the code says."""

from pathlib import Path

import pytest

from reproduction.report.page.notes import write_notes
from reproduction.report.verdict import CLAIMS

DOCS = Path(__file__).parents[3] / "docs" / "reproduction"


def test_the_notes_are_those_of_the_report():
    """Differences, threats and errata."""
    assert (DOCS / "notes.md").read_text(encoding="utf-8").endswith(write_notes())


@pytest.mark.parametrize("name", ["README.md", "verdict.md"])
def test_every_claim_is_in_the_published_verdict(name):
    """In the same words, with the same place."""
    text = (DOCS / name).read_text(encoding="utf-8")
    assert all(f"| “{claim.text}” " in text and claim.place in text for claim in CLAIMS)
    if name == "verdict.md":
        assert all(claim.rule in text for claim in CLAIMS)
