"""Arrow's own types for UUIDs and JSON are text, wherever they stand."""

from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pytest
from tallying import observe, tally

from shortlist import Query

TEXTS = [str(UUID(int=number << 90 | number)) for number in (3, 2, 10**9, 2**38 - 1)]


def as_uuids(texts):
    """A column of Arrow's own type."""
    return pa.array([None if text is None else UUID(text).bytes for text in texts], pa.uuid())


def hold_uuids(engine, users, texts):
    """Votes whose items are UUIDs; other than in Arrow, they are those of DuckDB."""
    table = pa.table({"user": users, "track": as_uuids(texts)})
    if engine == "arrow":
        return table
    if engine == "dataset":
        return pa.dataset.dataset(table)
    if engine == "chunks":
        return pa.concat_tables([table.slice(0, 1), table.slice(1)])
    if engine == "codes":
        coded = pa.DictionaryArray.from_arrays(pa.array(range(len(texts))), table["track"].chunk(0))
        return pa.table({"user": users, "track": coded})
    if engine == "dict":
        return {"user": users, "track": table["track"]}
    connection = duckdb.connect()
    connection.from_arrow(table).create("plays")
    assert str(connection.table("plays").types[1]) == "UUID"
    return connection.table("plays") if engine == "relation" else Query(connection, "SELECT * FROM plays")


@pytest.mark.parametrize("engine", ["arrow", "dataset", "chunks", "codes", "dict", "relation", "query"])
def test_typed_uuids_are_text(engine, all_items):
    """As items and as domain, also in one batch with gaps; one more person adds at most 1 to each count."""
    users, texts = [1, 1, 2, 3, 4], [TEXTS[0], TEXTS[0], TEXTS[0], None, TEXTS[1]]
    expected = [(2, TEXTS[0]), (1, TEXTS[1]), (0, TEXTS[2]), (0, TEXTS[3])]
    votes = hold_uuids(engine, users, texts)
    for domain in (TEXTS, as_uuids([*TEXTS, None]), pa.table({"track": as_uuids(TEXTS)})):
        counted = dict(map(reversed, all_items(tally(votes, person="user", item="track", domain=domain))))
        assert counted == dict(map(reversed, expected))
    more = hold_uuids(engine, [*users, 9, 9, 9, 9], [*texts, TEXTS[1], TEXTS[1], TEXTS[3], str(UUID(int=7))])
    grown = dict(map(reversed, all_items(tally(more, person="user", item="track", domain=TEXTS))))
    assert {text: grown[text] - counted[text] for text in TEXTS} == dict(zip(TEXTS, (0, 1, 0, 1), strict=True))


@pytest.mark.parametrize("cap", [None, 1])
def test_typed_uuids_are_persons(cap, all_items):
    """They count once for an item, and are the persons that their texts are."""
    people = [TEXTS[0], TEXTS[0], TEXTS[1], None]
    for persons in (as_uuids(people), pa.array(people)):
        votes = pa.table({"user": persons, "track": ["a", "a", "a", "b"]})
        counted = tally(votes, person="user", item="track", votes_per_person=cap, domain=["a", "b"])
        assert all_items(counted) == [(2, "a"), (0, "b")]


def test_typed_uuids_without_a_domain():
    """They are observed as their text."""
    votes = pa.table({"user": [1, 2, 3], "track": as_uuids([TEXTS[0], TEXTS[0], None])})
    assert observe(votes, person="user", item="track")[0].above(1, 0).values.tolist() == [2]


def test_empty_uuids(all_items):
    """No rows, and gaps only, are votes for nothing."""
    for texts in ([], [None, None]):
        votes = pa.table({"user": list(range(len(texts))), "track": as_uuids(texts)})
        assert all_items(tally(votes, person="user", item="track", domain=["a"])) == [(0, "a")]


def test_typed_json_is_text(all_items):
    """As DuckDB's is: by its bytes, and not by what it means."""
    votes = pa.table({"user": [1, 2, 3], "track": pa.array(['{"a":1}', '{"a": 1}', None], pa.json_())})
    for domain in (['{"a":1}'], pa.array(['{"a":1}'], pa.json_())):
        assert all_items(tally(votes, person="user", item="track", domain=domain)) == [(1, '{"a":1}')]
