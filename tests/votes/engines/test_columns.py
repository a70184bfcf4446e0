"""Each column in memory is read by its own type: what stands in one does not change how the other is read."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tallying import tally

from shortlist.errors import DataError
from shortlist.votes.values import write_person

BIG = 2**60
DAY = datetime(2024, 1, 1)
PERSONS = ["p1", "p2", "p3"]
MIXED = ["p1", "p2", 3]
UUIDS = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID(int=1).bytes] * 3, pa.binary(16)))


def counts(all_items, votes, domain, **options):
    found = all_items(tally(votes, **{"person": "u", "item": "item", "domain": domain, **options}))
    return {item: count for count, item in found}


@pytest.mark.parametrize(
    ("items", "item"),
    [
        (np.array(["2024-01-01"] * 3, "M8[ns]"), DAY),
        (np.array(["2024-01-01"] * 3, "M8[D]"), DAY.date()),
        (np.array([7, 7, 7], "float32"), 7),
        (np.array([2**25] * 3, "float32"), 2**25),
        (pa.array([BIG] * 3), BIG),
        (pl.Series([BIG] * 3), BIG),
        (pl.Series(["a"] * 3).cast(pl.Categorical), "a"),
        (pa.array([DAY.replace(tzinfo=UTC)] * 3, pa.timestamp("us", "UTC")), DAY.replace(tzinfo=UTC)),
        (pa.array([Decimal(7)] * 3, pa.decimal256(40, 0)), 7),
        (UUIDS, str(UUID(int=1))),
        (pd.Series([BIG] * 3).astype("category"), BIG),
        (pd.Series(["a"] * 3, dtype="string"), "a"),
        (pd.Series(["a"] * 3, dtype="category"), "a"),
        (pd.Series(pd.arrays.SparseArray([7, 7, 7])), 7),
    ],
    ids=lambda value: str(getattr(value, "dtype", getattr(value, "type", ""))),
)
def test_persons_do_not_change_items(items, item, all_items):
    for persons in (PERSONS, MIXED, pd.Series(PERSONS, dtype=object), pd.Series(PERSONS, dtype="string")):
        assert counts(all_items, {"u": persons, "item": items}, [item]) == {item: 3}


@pytest.mark.parametrize(
    "persons",
    [
        pd.Series(pd.to_datetime([1, 2, 3])),
        pd.Series(pd.to_timedelta([1, 2, 3])),
        pd.Series([float("inf"), float("-inf"), 1.0]),
        pd.Series([BIG, BIG + 1, BIG + 2, None], dtype="Int64"),
        pd.Series([BIG, BIG + 1, BIG + 2, None], dtype="Int64").astype("category"),
        pa.array([BIG, BIG + 1, BIG + 2, None]),
        pl.Series([BIG, BIG + 1, BIG + 2, None]),
        pd.Series(["x", "y", "\ud800"], dtype=object),
        pd.Series(["x", "y", 3, None], dtype=object).astype("category"),
    ],
    ids=str,
)
@pytest.mark.parametrize("cap", [None, 1])
def test_items_do_not_change_persons(persons, cap, all_items):
    size = len(persons)
    for items in (["a"] * size, [*["a"] * 3, 7][:size], pd.Series(["a"] * size, dtype="string")):
        assert counts(all_items, {"u": persons, "item": items}, ["a"], votes_per_person=cap) == {"a": 3}


@pytest.mark.parametrize(
    ("eve", "kind"),
    [(7, "object"), ("\ud800", "object"), (None, "object"), (7, "category"), (b"x", "category"), (None, "category")],
    ids=ascii,
)
def test_one_person_chooses_no_vote_of_another(eve, kind, all_items):
    """With a cap, the votes of a person depend on that person alone, whatever values stand beside it."""
    domain = [f"i{number}" for number in range(10)]
    rows = [(f"p{number}", item) for number in range(40) for item in domain]
    before, after = (
        counts(
            all_items,
            pd.DataFrame(
                {"u": pd.Series([u for u, _ in votes], dtype=object), "item": [item for _, item in votes]}
            ).astype({"u": kind}),
            domain,
            votes_per_person=1,
        )
        for votes in (rows, [*rows, (eve, "i0")])
    )
    assert after == {**before, "i0": before["i0"] + (eve is not None)}


def test_persons_are_written_exactly():
    moments = [pd.Timestamp(1), pd.Timestamp(2), pd.Timestamp(1, tz="UTC"), pd.Timedelta(1), pd.Timedelta(2)]
    moments += [float("inf"), float("-inf"), np.datetime64(3, "ns"), np.timedelta64(3, "ns"), np.datetime64(3, "ps"), 3]
    assert len({write_person(each) for each in moments} - {None}) == len(moments)
    assert write_person(DAY) == write_person(pd.Timestamp(DAY)) == write_person(np.datetime64(DAY, "s"))
    assert write_person(timedelta(1)) == write_person(pd.Timedelta(days=1)) == write_person(np.timedelta64(24, "h"))


def test_an_object_column_of_polars_keeps_the_other_column(all_items):
    persons = pl.Series([1, 2, 3]).cast(pl.Datetime("ns"))
    frame = pl.DataFrame({"u": persons, "item": pl.Series(["a"] * 3, dtype=pl.Object)})
    assert counts(all_items, frame, ["a"]) == {"a": 3}


def test_counts_without_a_type(all_items):
    votes = {"item": pa.array(["a", "b", "c"]), "n": [5, "7", None]}
    assert counts(all_items, votes, ["a", "b", "c"], person=None, count="n") == {"a": 5, "b": 7, "c": 0}
    with pytest.raises(DataError, match="others were found"):
        tally({"item": ["a", "b"], "n": [5, "x"]}, count="n", item="item", domain=["a", "b"])
    with pytest.raises(DataError, match="others were found"):
        tally({"item": ["a", "b"], "n": [5, Decimal("1e999999")]}, count="n", item="item", domain=["a", "b"])


def test_short_codes_number_each_chunk_alone(all_items):
    """One person's items do not make the codes of a dictionary overflow: Arrow joins the dictionaries of chunks."""
    short = pa.dictionary(pa.int8(), pa.string())
    for extra in (0, 40):
        texts = [[f"a{n}" for n in range(100)], [f"b{n}" for n in range(20 + extra)]]
        items = pa.chunked_array([pa.array(each).dictionary_encode().cast(short) for each in texts])
        numbers = [*range(120), *[120] * extra]
        assert counts(all_items, {"u": numbers, "item": items}, ["a1", "b2"]) == {"a1": 1, "b2": 1}
        assert counts(all_items, {"u": items, "item": numbers}, [7, 120]) == {7: 1, 120: extra}


def test_columns_have_one_length():
    with pytest.raises(DataError, match="must have one length"):
        tally({"u": [1, 2], "item": ["a"]}, person="u", item="item", domain=["a"])


def test_names_of_columns_that_may_be_items_are_not_shown():
    """A crosstab or a dict of counts has items as its columns."""
    for votes in ({"SECRET": [1], "other": [2]}, pd.DataFrame({"SECRET": [1]}), pl.DataFrame({"SECRET": [1]})):
        with pytest.raises(DataError) as caught:
            tally(votes, person="user", item="item", domain=["a"])
        assert "SECRET" not in str(caught.value)
