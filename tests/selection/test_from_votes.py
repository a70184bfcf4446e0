"""From votes to a release, in one call."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shortlist import Query
from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import SeededBits
from shortlist.mechanisms import Joint, NoisyCounts
from shortlist.release import Release
from shortlist.selection import select

VOTES = pa.table({"user": [*range(900), *range(500)], "track": ["a"] * 900 + ["b"] * 500})
DOMAIN = ["a", "b", "c", "d"]


def release(votes=VOTES, **options):
    return select(votes, **{"person": "user", "item": "track", "domain": DOMAIN, "k": 2, "epsilon": 1, **options})


def test_names_the_items_best_first():
    """With clear counts, the truth is released."""
    assert release().items == ("a", "b")


def test_records_what_was_promised():
    """The record holds the public parameters and nothing that depends on the votes but the items."""
    made = release(epsilon=0.1, mechanism="fastjoint", beta="0.001", neighbours="replace", unit="account")
    assert made.mechanism == "fastjoint"
    assert made.parameters["beta"] == Fraction(1, 1000)
    assert str(made.guarantee) == "0.1-DP (rho 0.00125) for one account, replace"
    assert (made.d, made.secure) == (4, True)
    assert {*Release.__dataclass_fields__} == {
        "items", "mechanism", "parameters", "guarantee", "domain_size", "secure", "persons_counted", "version",
        "ordered", "up_to", "counts", "error_bound", "assessment", "labels",
        "note", "period", "population", "span", "ledger", "charge", "id", "made",
    }  # fmt: skip


def test_a_seed_is_recorded_as_insecure():
    """Repeatable randomness repeats, and is not secure."""
    assert release(bits=SeededBits(3), epsilon="0.001") == release(bits=SeededBits(3), epsilon="0.001")
    assert not release(bits=SeededBits(3)).secure


def test_takes_a_mechanism_object():
    """A mechanism that is built already brings its own k and epsilon."""
    made = release(mechanism=Joint(k=1, epsilon=2), k=None, epsilon=None)
    assert made.items == ("a",)
    assert made.guarantee.epsilon == 2


MANY = pa.table({"user": ["eve"] * 26 + ["bob"], "track": [*"abcdefghijklmnopqrstuvwxyz", "a"]})
LETTERS = {"domain": list("abcdefghijklmnopqrstuvwxyz"), "k": 26, "epsilon": 10**5}


@pytest.mark.parametrize(
    "mechanism",
    ["noisy-counts", NoisyCounts(k=26, epsilon=10**5, votes_per_person=3), "auto", "joint"],
    ids=lambda mechanism: mechanism if isinstance(mechanism, str) else "object",
)
def test_the_cap_of_a_mechanism_is_applied_to_the_votes(mechanism):
    """Whether a cap is named beside a mechanism or in it, so many votes of each person are counted, and no more."""
    given = {} if isinstance(mechanism, NoisyCounts) else {"votes_per_person": 3}
    made = release(MANY, **LETTERS, mechanism=mechanism, **given)
    assert made.parameters["votes_per_person"] == 3
    exact = release(MANY, **LETTERS, mechanism="noisy-counts", votes_per_person=3)
    assert sum(exact.counts.values) == 4
    if made.counts is not None:
        assert sum(made.counts.values) == 4


def test_two_different_caps_are_refused():
    """A cap beside a mechanism must be the cap that the mechanism relies on."""
    with pytest.raises(ParameterError, match="disagree"):
        release(mechanism=NoisyCounts(k=2, epsilon=1, votes_per_person=1), votes_per_person=2)
    with pytest.raises(ParameterError, match="must go with person"):
        release(VOTES, person=None, count="user", mechanism=NoisyCounts(k=2, epsilon=1, votes_per_person=1))


def test_items_without_an_order_stand_in_the_order_of_the_domain():
    """Their order says nothing about the votes, and counts stand beside their items."""
    votes = pa.table({"user": [*range(900), *range(500)], "track": ["b"] * 900 + ["a"] * 500})
    assert release(votes, mechanism="subset").items == ("a", "b")
    made = release(votes, ordered=False, votes_per_person=2, epsilon=100)
    assert made.items == ("a", "b")


def test_divides_epsilon_by_the_sensitivity(monkeypatch):
    """For a table that is counted, the mechanism runs with epsilon / N and the record says epsilon."""
    used = []
    prepare = Joint._prepare
    monkeypatch.setattr(Joint, "_prepare", lambda self, levels: (used.append(self.epsilon), prepare(self, levels))[1])
    votes = pa.table({"track": ["a", "b"], "plays": [900, 500]})
    made = release(votes, person=None, count="plays", sensitivity=3, mechanism="joint")
    assert used == [Fraction(1, 3)]
    assert made.guarantee == Joint(k=2, epsilon=1).guarantee
    assert made.parameters["epsilon"] == 1
    assert made.parameters["sensitivity"] == 3


@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, True, "2"])
def test_refuses_a_wrong_sensitivity(sensitivity):
    """Sensitivity is a whole number from 1."""
    with pytest.raises(ParameterError, match="sensitivity"):
        release(count="plays", person=None, sensitivity=sensitivity)


def test_sensitivity_is_for_counted_tables():
    """Where persons are known, one vote for each item is enforced."""
    with pytest.raises(ParameterError, match="must go with count"):
        release(sensitivity=2)


def test_a_cap_is_stated():
    """With votes_per_person, the release states how many items of each person count."""
    made = release(votes_per_person=1, k=1)
    assert made.items == ("a",)
    assert made.parameters["votes_per_person"] == 1
    assert "votes_per_person" not in release().parameters


@pytest.mark.parametrize("cap", [0, -1, 1.5, True, "2"])
def test_refuses_a_wrong_cap(cap):
    """A cap is a whole number from 1, and goes with persons."""
    with pytest.raises(ParameterError, match="votes_per_person must be a whole number from 1"):
        release(votes_per_person=cap)
    with pytest.raises(ParameterError, match="votes_per_person must go with person"):
        release(votes_per_person=2, person=None, count="plays")


def test_takes_a_query_as_votes_and_domain():
    """A query may stand wherever a table may."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE plays (user, track)")
        connection.executemany("INSERT INTO plays VALUES (?, ?)", [(user, "a") for user in range(900)])
        domain = Query(connection, "SELECT 'a' AS track UNION SELECT 'b'")
        assert release(Query(connection, "SELECT * FROM plays"), domain=domain, k=1).items == ("a",)


def test_refuses_k_above_d():
    """No more items can be released than there are."""
    with pytest.raises(DataError, match="at most the number of items"):
        release(k=5)


@pytest.mark.parametrize(
    "options",
    [{"k": 0}, {"epsilon": 0}, {"epsilon": "much"}, {"mechanism": "jont"}, {"neighbours": "next door"}, {"beta": 1}],
    ids=str,
)
def test_refuses_parameters_before_data(options):
    """A wrong parameter is refused before any file is looked for."""
    with pytest.raises(ParameterError):
        release("no/such/file.csv", **options)


@pytest.mark.parametrize(
    ("votes", "options", "words"),
    [
        (VOTES, {"counts": True}, "did you mean counts_epsilon?"),
        ([{"user": 1, "track": "a"}], {}, "pyarrow.Table.from_pylist(rows)"),
        ("shop.sqlite", {}, "pass shortlist.Query(database, sql)"),
        ({"user_id": [1], "track": ["a"]}, {}, "did you mean 'user_id'?"),
        ([(1, "a")], {}, "pandas.DataFrame(rows, columns=['user', 'track'])"),
        (sqlite3.connect(":memory:"), {}, "shortlist.Query(connection, 'SELECT"),
        (duckdb.connect(), {}, "shortlist.Query(connection, 'SELECT"),
        ({"a": 7, "b": 4}, {}, "pass them to shortlist.top_k"),
        (pd.Series({"a": 7, "b": 4}), {}, "pass them to shortlist.top_k"),
        (pl.Series(["a", "b"]), {}, "pass them to shortlist.top_k"),
        (pa.chunked_array([["a", "b"]]), {}, "pass them to shortlist.top_k"),
    ],
    ids=["counts", "rows", "database", "name", "tuples", "sqlite3", "duckdb", "dict", "pandas", "polars", "arrow"],
)
def test_hints_say_what_was_meant(votes, options, words, tmp_path, monkeypatch):
    """A common mistake is answered with what to write."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.sqlite").touch()
    with pytest.raises((DataError, ParameterError)) as caught:
        select(votes, person="user", item="track", domain=["a", "b"], k=1, epsilon=1, **options)
    assert words in str(caught.value)


def test_a_table_is_no_query():
    """The name of a table is refused with an example of a query."""
    with pytest.raises(ParameterError, match=r"not a single word\.\nHint: a query looks like this: SELECT"):
        Query("shop.sqlite", "buys")


def test_tells_its_steps():
    """Whoever waits is told what for."""
    steps = []
    release(progress=steps.append)
    assert steps == ["Reading the domain", "Counting the votes", "Drawing the items", "Naming the items"]


def test_imports_are_light():
    """Importing the way in loads no engine."""
    code = "import sys, shortlist.selection; print(*sorted(name.partition('.')[0] for name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"duckdb", "narwhals", "pyarrow", "pandas", "polars", "pyspark", "ibis", "scipy"} & set(loaded)


def test_says_which_part_is_missing():
    """Without the optional part, the error names it."""
    code = (
        "import sys; sys.modules['duckdb'] = None\n"
        "from shortlist.errors import MissingExtraError\n"
        "from shortlist.selection import select\n"
        "try: select('votes.csv', person='user', item='track', domain=['a'], k=1, epsilon=1)\n"
        "except MissingExtraError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'shortlist[tables]'" in said
    code = (
        "import sys; sys.modules['polars'] = sys.modules['pandas'] = None\n"
        "import shortlist\n"
        "release = shortlist.prepare([5, 2], k=1, epsilon=1).release()\n"
        "for write in (release.to_pandas, release.to_polars):\n"
        "    try: write()\n"
        "    except shortlist.MissingExtraError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'shortlist[pandas]'" in said
    assert "'shortlist[polars]'" in said
