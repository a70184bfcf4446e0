"""Columns of the catalogue travel with the list, and nothing about them depends on the votes."""

import json
from datetime import date
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shortlist import Files, Ledger, Release, select
from shortlist.errors import DataError, ParameterError

CATALOGUE = {"track": ["a", "b", "b", None, "c"], "title": ["Ä", "B", "other", "none", None], "year": [1, 2, 3, 4, 5]}
VOTES = {"user": [*range(300), *range(100)], "track": ["a"] * 300 + ["b"] * 100}
ASKED = {"person": "user", "item": "track", "k": 3, "epsilon": 1}
HOLDERS = {
    "a dict": lambda folder: CATALOGUE,
    "pandas": lambda folder: pd.DataFrame(CATALOGUE),
    "Polars": lambda folder: pl.DataFrame(CATALOGUE),
    "Arrow": lambda folder: pa.table(CATALOGUE),
    "a stream of Arrow": lambda folder: pa.table(CATALOGUE).to_reader(),
    "Parquet": lambda folder: write_parquet(folder / "catalogue.parquet"),
    "CSV": lambda folder: write_csv(folder / "catalogue.csv"),
    "files": lambda folder: Files(write_csv(folder / "catalogue.txt"), format="csv"),
}


def write_parquet(path):
    pq.write_table(pa.table(CATALOGUE), path)
    return path


def write_csv(path):
    pd.DataFrame(CATALOGUE).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("holder", HOLDERS)
def test_labels_travel_with_the_list(holder, tmp_path):
    """The first row of an item counts, in every source and every format; years of a CSV file are text."""
    release = select(VOTES, **ASKED, domain=HOLDERS[holder](tmp_path), label=["year", "title"])
    assert release.items == ("a", "b", "c")
    years = ("1", "2", "5") if holder in ("CSV", "files") else (1, 2, 5)
    assert dict(release.labels) == {"year": years, "title": ("Ä", "B", None)}
    assert Release.from_json(release.to_json()) == release
    release.to_csv(tmp_path / "top.csv")
    release.to_parquet(tmp_path / "top.parquet")
    assert (tmp_path / "top.csv").read_text(encoding="utf-8").splitlines()[0] == '"rank","item","year","title"'
    assert release.to_arrow()["title"].to_pylist() == release.to_polars()["title"].to_list() == ["Ä", "B", None]
    assert Release.from_parquet(tmp_path / "top.parquet") == release
    heads, first, *_ = (line.split() for line in str(release).splitlines())
    assert (heads, first) == (["rank", "item", "year", "title"], ["1", "a", "1", "Ä"])
    assert "<td>Ä</td>" in release._repr_html_()


@pytest.mark.parametrize(
    ("labels", "written"),
    [
        ([1.5, 2.0, float("nan")], ("1.5", "2.0", None)),
        ([1, "x", None], ("1", "x", None)),
        ([date(2024, 2, 29), None, None], (date(2024, 2, 29), None, None)),
        ([Decimal("1.50"), None, Decimal(2)], (Decimal("1.50"), None, Decimal(2))),
        ([["x"], None, None], ("['x']", None, None)),
        ([True, False, None], (True, False, None)),
    ],
)
def test_labels_have_one_type_that_a_record_can_hold(labels, written):
    """Others become text, and the catalogue alone decides it."""
    release = select(VOTES, **ASKED, domain={"track": ["a", "b", "c"], "x": labels}, label="x")
    assert release.labels["x"] == written
    assert Release.from_json(release.to_json()) == release
    assert len(release.to_arrow()) == len(release.to_pandas()) == 3


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"label": "none"}, DataError, "the domain must have a column 'none'"),
        ({"label": "count"}, ParameterError, "label must not be called like a column of a release"),
        ({"label": ["title", "title"]}, ParameterError, "a list of different ones"),
        ({"label": 7}, ParameterError, "label must be a column of the domain, or a list of them, not int"),
        ({"label": "a\tb"}, ParameterError, "label must be columns whose names are one line"),
        ({"label": "x" * 201}, ParameterError, "label must be columns whose names are one line"),
        ({"label": ""}, ParameterError, "label must be a column of the domain"),
        ({"label": "title", "domain": ["a", "b", "c"]}, ParameterError, "must go with a domain that has columns"),
        ({"label": "title", "domain": None, "delta": "1e-6"}, ParameterError, "label must go with domain"),
    ],
)
def test_wrong_labels_are_refused_before_the_charge(options, error, words, tmp_path):
    """Nothing about labels can fail after it."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1, delta="1e-5", accounting="basic")
    with pytest.raises(error, match=words):
        select(VOTES, **{**ASKED, "domain": CATALOGUE, **options}, ledger=ledger)
    assert not ledger.charges


def test_a_record_with_other_labels_is_refused():
    """Labels are as many as the items, and are not called like the columns of a release."""
    stored = select(VOTES, **ASKED, domain=CATALOGUE, label="title").to_dict()
    for labels in ({"title": ["x"]}, {"count": ["x", "y", "z"]}, {"title": [1.5, 1, 1]}, {"": ["x", "y", "z"]}, ["x"]):
        with pytest.raises(DataError, match=r"must follow the schema|another length than the list"):
            Release.from_json(json.dumps({**stored, "labels": labels}))


def test_labels_are_called_like_columns_of_families_alone():
    """One list has no column of people, so a label may have that name, and keeps its text in every table."""
    catalogue = {"track": ["a", "b", "c"], "people": ["Ann", "Bo", "Cy"], "remark": ["x", None, "z"]}
    release = select(VOTES, **ASKED, domain=catalogue, label=["people", "remark"])
    for frame in (release.to_arrow().to_pydict(), release.to_pandas(), release.to_polars()):
        assert list(frame["people"]) == ["Ann", "Bo", "Cy"]
    assert release.to_arrow()["remark"].to_pylist() == ["x", None, "z"]
