"""The same votes and the same seed give the same release, whatever holds the votes."""

import csv
import gzip
import random

import pytest
from real_data import find_real_data

from shortlist.exact.bits import SeededBits
from shortlist.selection import select

DOMAIN = [f"track {number}" for number in range(60)]


def release(votes, **options):
    return select(
        **votes, person="user", item="track", bits=SeededBits(7), **{"domain": DOMAIN, "epsilon": 1, **options}
    )


@pytest.fixture(scope="module")
def votes():
    chance = random.Random(3)
    tracks = [f"track {int(60 * chance.random() ** 3)}" for _ in range(3_000)]
    return {"user": [chance.randrange(200) for _ in tracks], "track": tracks}


@pytest.mark.parametrize("mechanism", ["joint", "fastjoint"])
def test_is_the_same_on_all_engines(hold, votes, mechanism):
    """Twelve kinds of tables and PyArrow agree on a release of 20 items."""
    import pyarrow as pa

    expected = release({"votes": pa.table(votes)}, k=20, mechanism=mechanism)
    assert release(hold(votes), k=20, mechanism=mechanism) == expected


@pytest.mark.parametrize("options", [{}, {"domain": None, "delta": "0.01", "epsilon": 3}])
def test_is_the_same_with_a_cap(hold, votes, options):
    """Every engine keeps the same votes of each person."""
    import pyarrow as pa

    expected = release({"votes": pa.table(votes)}, k=20, votes_per_person=3, **options)
    assert release(hold(votes), k=20, votes_per_person=3, **options) == expected


@pytest.mark.parametrize(
    "options", [{"k": 20}, {"k": 40, "k_bar": 45, "mechanism": "limited-domain"}, {"k": 5, "mechanism": "stable"}]
)
def test_is_the_same_without_a_domain(hold, votes, options):
    """Also where ties at the cut-off are broken."""
    import pyarrow as pa

    common = {"domain": None, "epsilon": 3, "delta": "0.01", **options}
    expected = release({"votes": pa.table(votes)}, **common)
    assert len(expected)
    assert release(hold(votes), **common) == expected


def test_releases_the_whole_domain(hold, votes):
    """When k is d, every item is named, also those without votes."""
    domain = [*DOMAIN, "nobody", "no one"]
    assert sorted(release(hold(votes), k=62, domain=domain, epsilon="0.01").items) == sorted(domain)


@pytest.fixture(scope="module")
def real_votes():
    """The games log as columns, its items, and what is released from the file."""
    games = find_real_data("games.votes.csv.gz")
    with gzip.open(games, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    person, item = rows[0]
    columns = {"user": [row[person] for row in rows], "track": [row[item] for row in rows]}
    domain = sorted(set(columns["track"]))
    return columns, domain, select(games, person=person, item=item, domain=domain, k=10, epsilon=1, bits=SeededBits(7))


@pytest.mark.slow
def test_real_votes_agree(hold, real_votes):
    """The games log, 129,511 votes for 5,155 games, gives one and the same top 10."""
    columns, domain, expected = real_votes
    assert release(hold(columns), k=10, domain=domain) == expected
    assert expected.d == 5_155
