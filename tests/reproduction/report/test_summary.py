"""The tables for documents hold what the results hold."""

from reproduction.experiment.grid import Setting
from reproduction.report.claims import CLAIMS, judge_claims
from reproduction.report.tables import compare_speed, compare_times, compare_today, count_repeats, write_summary


def test_every_table_has_as_many_fields_in_each_row(invented, small):
    """All seven tables are there, with stand-ins marked and every claim once."""
    results = invented("games", "books", stand_ins=("books",), trials=9, rounds=4, released=True)
    key = ("games", "released-fastjoint", Setting(k=100, epsilon=1.0, beta=2.0**-10))
    results.errors[key].repeats[:4] = [0, 1, 2, 0]
    text = write_summary(results, [small("games"), small("books")], judge_claims(results))
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == text.count("## ") == 7
    assert all(len({line.count(" | ") for line in (table[0], *table[2:])}) == 1 for table in tables)
    assert all(text.count(f"“{claim.text}”") == 1 for claim in CLAIMS)
    assert "books (stand-in)" in text
    assert count_repeats(results)[2:] == ["| games | 100 | 1 | 2 of 45 | 2 |"]


def test_numbers_are_medians_at_the_default(invented):
    """Times in milliseconds; ratios over k; and both errors with the time of what to use today."""
    seconds = lambda c, d, at: 2.0 if c.law == "joint" else 0.1  # noqa: E731
    results = invented("games", seconds=seconds, error=lambda c, d, at: 40, released=True)
    assert "| Joint (released) | 2,040 |" in compare_times(results)
    assert compare_speed(results)[2].startswith("| games | 20× (20–20) |")
    assert compare_today(results)[2].startswith("| games | 42; 4,200; 2,040 | 42; 4,200; 102 |")
