"""A cap keeps the same votes of a person on every engine, whatever type holds the person."""

import io
from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from tallying import draw, observe, order, plan_count, tally

from shortlist import Query
from shortlist.periods import read_span

DOMAIN = [f"i{number:02}" for number in range(12)]
ROWS = [(person, item) for person in range(40) for item in DOMAIN]
CAP = 5
UNTYPED = ("csv", "csv.gz", "jsonl")


def keep(rows, number_item, cap=CAP):
    """The counts by the rule: the first votes of each person by a hash of person and item, and then by the item."""
    votes = {}
    for person, item in rows:
        votes.setdefault(person, set()).add(item)
    kept = Counter()
    for person, items in votes.items():
        kept.update(sorted(items, key=lambda item: (order(person, number_item(item)), item))[:cap])
    return dict(kept)


def counts(all_items, votes, **options):
    if "domain" not in options:
        options["domain"] = DOMAIN
    function = observe if options["domain"] is None else tally
    if function is observe:
        del options["domain"]
    found = all_items(function(votes, **{"person": "user", "item": "track", "votes_per_person": CAP, **options}))
    return {item: count for count, item in found if count}


@pytest.mark.parametrize("kind", [int, str, float, Decimal, np.int32, bytes])
def test_every_engine_keeps_the_same_votes(hold, engine, kind, all_items):
    """The hash is of one text for 5, 5.0, "5" and b"5", with a domain and without one."""
    if kind is bytes and engine in ("csv", "csv.gz", "jsonl"):
        pytest.skip("there are no bytes")
    if (kind is float and engine in ("csv", "csv.gz")) or (
        kind is Decimal and engine in ("sqlite file", "csv", "csv.gz", "jsonl")
    ):
        pytest.skip("the text 5.0 is not the text 5, and SQLite has no decimals")
    users = [str(person).encode() if kind is bytes else kind(person) for person, _ in ROWS]
    if kind is np.int32:
        if engine not in ("pandas", "polars", "polars lazy", "pyarrow", "duckdb", "ibis", "parquet", "duckdb file"):
            pytest.skip("there are no short numbers")
        users = np.array(users, dtype=np.int32)
    votes = hold({"user": users, "track": [item for _, item in ROWS]})["votes"]
    assert counts(all_items, votes) == keep(ROWS, DOMAIN.index)
    assert counts(all_items, votes, domain=None) == keep(ROWS, draw)


@pytest.mark.parametrize("items", [[1, 2, 30, 400], [date(2024, 2, day) for day in range(1, 29, 5)], [True, False]])
def test_every_engine_keeps_the_same_items(hold, engine, items, all_items):
    """Observed items of other types have one text, too."""
    if (engine == "sqlite file" and not isinstance(items[0], int)) or (engine == "sqlite file" and items[0] is True):
        pytest.skip("SQLite has neither dates nor booleans")
    rows = [(person, item) for person in range(30) for item in items]
    votes = hold({"user": [person for person, _ in rows], "track": [item for _, item in rows]})["votes"]
    expected = keep(rows, lambda item: draw(str(item).lower()), cap=1)
    found = counts(all_items, votes, domain=None, votes_per_person=1)
    assert {str(item).lower(): count for item, count in found.items()} == {
        str(item).lower(): count for item, count in expected.items()
    }


def read_pandas(extra):
    text = "user,track\n" + "".join(f"{user},{item}\n" for user, item in [*ROWS, *extra])
    return pd.read_csv(io.StringIO(text))


def read_duckdb(extra, folder):
    read_pandas(extra).to_csv(folder / "votes.csv", index=False)
    return Query(duckdb.connect(), f"SELECT * FROM read_csv('{folder}/votes.csv')")


def write_parquet(extra, folder):
    rows = [*ROWS, *extra]
    users = pa.array([user for user, _ in rows], pa.uint64() if extra else pa.int64())
    parquet.write_table(pa.table({"user": users, "track": [item for _, item in rows]}), folder / "votes.parquet")
    return folder / "votes.parquet"


def write_two_files(extra, folder):
    kinds = pa.int32(), pa.int64() if extra else pa.int32()
    for place, (kind, rows) in enumerate(zip(kinds, (ROWS[:100], [*ROWS[100:], *extra]), strict=True)):
        table = pa.table({"user": pa.array([-user for user, _ in rows], kind), "track": [item for _, item in rows]})
        parquet.write_table(table, folder / f"{place}.parquet")
    return folder / "*.parquet"


@pytest.mark.parametrize(
    ("make", "eve"),
    [
        (lambda extra, folder: read_pandas(extra), "x17"),
        (lambda extra, folder: read_pandas(extra), ""),
        (lambda extra, folder: read_pandas(extra), 0.5),
        (lambda extra, folder: read_pandas(extra), 2**63),
        (read_duckdb, "x17"),
        (read_duckdb, 2**63),
        (write_parquet, 2**63),
        (write_two_files, 2**40),
    ],
)
@pytest.mark.parametrize("domain", [DOMAIN, None])
def test_one_person_who_changes_the_type_moves_no_other_vote(make, eve, domain, tmp_path, all_items):
    """One id decides whether a column holds whole numbers, floats or text, and how wide they are."""
    before, after = (counts(all_items, make(extra, tmp_path), domain=domain) for extra in ([], [(eve, "i00")]))
    assert {item: after[item] - before[item] for item in DOMAIN} == {
        item: int(item == "i00" and eve != "") for item in DOMAIN
    }


def test_times_in_pandas_have_one_text(all_items):
    """One text among points in time makes objects of them, and moves nobody else's votes."""
    days = [pd.Timestamp("1969-12-31 23:59:59.5") + pd.Timedelta(hours=11) * user for user, _ in ROWS]
    tracks = [item for _, item in ROWS]
    for users in (days, [day - days[0] for day in days]):
        before = counts(all_items, {"user": pd.Series(users), "track": tracks})
        after = counts(all_items, {"user": pd.Series([*users, "x"]), "track": [*tracks, "nothing"]})
        assert before == after
    for domain in (None, sorted(set(days))):
        plain = {"user": tracks, "track": pd.Series(days)}
        mixed = {"user": [*tracks, "eve"], "track": pd.Series([*days, [7]])}
        assert counts(all_items, plain, domain=domain) == counts(all_items, mixed, domain=domain)


def test_one_hash_collision_keeps_no_vote_too_many(all_items):
    """Votes are numbered, not ranked: equal hashes are told apart by the item."""
    rows = [(datetime(2024, 1, 1), item) for item in DOMAIN]
    frame = pa.table({"user": pa.array([user for user, _ in rows]), "track": [item for _, item in rows]})
    assert sum(counts(all_items, frame, votes_per_person=3).values()) == 3
    infinite = pa.table({"user": [float("inf"), float("-inf"), 1e300] * 4, "track": DOMAIN})
    assert sum(counts(all_items, infinite, votes_per_person=3).values()) == 9


CAPS = (1, 2, 4, 9)


def count_private(all_items, votes, cap, **options):
    """The counts under a cap that is chosen while they are made, and how many persons exceed each of the others."""
    found = []

    def choose(exceeding):
        found.extend(exceeding)
        return cap

    asked = {"person": "user", "item": "track", "votes_per_person": CAPS[-1], "caps": CAPS, "choose_cap": choose}
    counted = all_items(plan_count(votes, **asked, **options).count())
    return {item: count for count, item in counted if count}, found


def test_a_private_cap_counts_what_a_fixed_one_counts(hold, all_items):
    """The votes are read once, and every cap keeps what it keeps if it is given; persons are counted by their votes."""
    rows = [(person, DOMAIN[(person * 5 + n * 7) % 12]) for person in range(30) for n in range(person % 13)]
    rows += [(3, DOMAIN[0])] * 2
    votes = hold({"user": [person for person, _ in rows], "track": [item for _, item in rows]})["votes"]
    sizes = [len({item for person, item in rows if person == each}) for each in range(30)]
    expected = [sum(size > cap for size in sizes) for cap in (0, *CAPS[:-1])]
    assert count_private(all_items, votes, 4, domain=DOMAIN) == (keep(rows, DOMAIN.index, 4), expected)
    assert count_private(all_items, votes, 2, observed=True) == (keep(rows, draw, 2), expected)


@pytest.mark.parametrize("per", [None, "week"])
def test_a_private_cap_of_a_family_is_for_one_unit(hold, engine, per):
    """Cells are counted for each person, or each person and week, and people are counted after the cap."""
    days = [date(2026, 8, 31), date(2026, 9, 8)]
    rows = [(user, item, days[n % 2]) for user in range(6) for n, item in enumerate(DOMAIN[: 2 * user])]
    rows += [(user, DOMAIN[0], days[1]) for user in range(3)]
    users, items, times = map(list, zip(*rows, strict=True))
    times = [each.isoformat() for each in times] if engine == "sqlite file" else times
    votes, found, results = hold({"user": users, "track": items, "day": times})["votes"], [], []
    span = read_span(time="day", every="week", since="2026-W36", until="2026-W37", per=per)
    asked = {"person": "user", "item": "track", "domain": DOMAIN, "time": "day", "span": span, "with_people": True}
    private = {"votes_per_person": CAPS[-1], "caps": CAPS, "choose_cap": lambda numbers: found.extend(numbers) or 2}
    for limit in ({"votes_per_person": 2}, private):
        family = plan_count(votes, **asked, **limit).count()
        levels = [(each.values.tolist(), each.sizes.tolist()) for each in family]
        results.append((levels, family.people.tolist()))
    assert results[0] == results[1]
    units = Counter((user, per and day) for user, _, day in set(rows))
    assert found == [sum(size > cap for size in units.values()) for cap in (0, *CAPS[:-1])]


def test_a_private_cap_is_counted_after_the_limit_on_groups():
    """A person with many votes in many groups has few of them in one group."""
    rows = [(user, item, group) for user in range(4) for item in DOMAIN[:3] for group in ("at", "de", "fr")]
    votes, found = dict(zip(("user", "track", "land"), map(list, zip(*rows, strict=True)), strict=True)), []
    asked = {"person": "user", "item": "track", "domain": DOMAIN, "by": "land", "groups": ["at", "de", "fr"]}
    private = {"votes_per_person": CAPS[-1], "caps": CAPS, "choose_cap": lambda numbers: found.extend(numbers) or 9}
    family = plan_count(votes, **asked, **private, groups_per_person=1).count()
    assert found == [4, 4, 4, 0]
    assert sum(int((each.values * each.sizes).sum()) for each in family) == 12
