"""Wrong and hostile calls end in a right answer, or in an error of the library that quotes no data.

`python benchmarks/hostile_calls.py 100000` makes many more of them.
"""

import os
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from attack import WEIGHTS, Attack

from shortlist import Guarantee, Ledger, Query, Release, audit, check, plan, prepare, select, top_k
from shortlist.errors import DataError, OutputError, ParameterError
from shortlist.exact.bits import SeededBits
from shortlist.mechanisms import Subset


@pytest.mark.slow
def test_hostile_calls_end_well(tmp_path):
    """Thousands of calls of every kind, in this process, and a few processes."""
    attack = Attack(folder=tmp_path / "files", seed=4)
    for kind, calls in {"top_k": 1100, "bought": 150, "compose": 850, "from_json": 850, "ledger": 150}.items():
        for _ in range(calls):
            attack.call(kind)
    for kind, calls in {
        "select": 40,
        "unlisted": 30,
        "check": 25,
        "command": 25,
        "audit": 40,
        "plan": 15,
        "process": 1,
    }.items():
        for _ in range(calls):
            attack.call(kind)
    assert attack.failures == {}


@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_a_call_of_each_kind_is_answered(kind, tmp_path):
    """Calls are refused for what is hostile in them: the same call with usual arguments has a right answer."""
    attack = Attack(folder=tmp_path / "files", seed=4)
    attack.call_rightly(kind)
    assert (attack.answers[kind], attack.failures) == (1, {})


# Each of these was found by hostile calls.


@pytest.mark.parametrize("parts", [(1, np.int64(2)), (np.int64(1), np.int64(2)), (np.int32(3), 1)])
def test_a_fraction_of_numbers_of_numpy_is_a_number(parts):
    """It has no hash, and its parts have no `bit_length`: it was a TypeError, and an AttributeError."""
    given = prepare([5, 3, 0], k=1, epsilon=Fraction(*parts), delta=Fraction(1, np.int64(10**6))).guarantee
    assert given.epsilon == Fraction(*map(int, parts))
    assert type(given.epsilon.numerator) is type(given.epsilon.denominator) is int


@pytest.mark.parametrize("values", [{"epsilon": None}, {"epsilon": 1, "delta": None}])
def test_a_guarantee_without_a_number_is_refused(values):
    """It was a TypeError."""
    with pytest.raises(ParameterError, match="must be a number"):
        Guarantee(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"k": None, "epsilon": None},
        {"k": 1, "epsilon": 1, "votes_per_person": pd.NA},
        {"k": 1, "epsilon": 1, "votes_per_person": np.array([1, 2])},
    ],
)
def test_parameters_that_are_missing_or_no_numbers_are_refused(values):
    """They were TypeErrors and ValueErrors."""
    with pytest.raises(ParameterError):
        top_k({"a": 5, "b": 3}, mechanism="margin-joint", **values)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_record_is_read_from_a_file_only(kind, tmp_path):
    """A pipe without a writer waited for ever, and a device filled the memory."""
    if kind == "pipe":
        os.mkfifo(tmp_path / "pipe")
    path = {"pipe": tmp_path / "pipe", "device": "/dev/zero", "folder": tmp_path}[kind]
    with pytest.raises(DataError, match="must be a file"):
        Release.from_json(path)


def test_a_population_that_is_a_gap_is_refused(tmp_path):
    """pandas.NA is neither equal to a text nor different from it."""
    with pytest.raises(ParameterError, match="population must be one line"):
        Ledger.create(tmp_path / "budget.db", epsilon=1, population=pd.NA)


@pytest.mark.filterwarnings("error")
def test_bounds_beyond_floats_are_silent():
    """Weights that floats cannot hold beside those left out made NumPy warn; the set was right."""
    chosen = top_k([2**63 - 1, 0, 0, 0], mechanism=Subset(k=1, epsilon="1e-300"), bits=SeededBits(1))
    assert len(chosen) == 1


def test_a_broken_record_is_not_repeated():
    """Text that does not begin like a record was taken for a path, and the error repeated all of it."""
    with pytest.raises(DataError) as raised:
        Release.from_json(']"items": ["secret"], ' + " " * 300)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("votes", [{"user": [1], "track": []}, {"user": [1], "track": ["a", "b"]}])
def test_a_check_refuses_columns_of_different_lengths(votes):
    """It was an error of Arrow."""
    with pytest.raises(DataError, match="must have one length"):
        check(votes, person="user", item="track", domain=["a", "b"])


@pytest.mark.parametrize("options", [{"mechanism": "subset", "at_least": 10**5000}, {"votes_per_person": 10**5000}])
def test_numbers_that_cannot_be_written_are_refused(options):
    """Python writes no integer of thousands of digits, and a float holds none."""
    with pytest.raises(ParameterError, match="must be at most"):
        top_k([3, 2, 1], k=2, epsilon=1, **{"mechanism": "noisy-counts", **options})


def test_a_mechanism_that_is_a_list_is_refused():
    """It was a TypeError."""
    with pytest.raises(ParameterError, match="mechanism must be one of"):
        audit([])
    with pytest.raises(ParameterError, match="mechanism must be one of"):
        select({"u": [1], "i": ["a"]}, person="u", item="i", k=1, epsilon=1, delta="0.1", mechanism=[])


def test_a_plan_reads_numbers_as_other_functions_do():
    """A text as a cap was an error of NumPy, and a number of draws in an array a TypeError."""
    asked = {"like": "zipf", "items": 50, "people": 100, "k": 2, "epsilon": 1}
    with pytest.raises(ParameterError, match="votes_per_person must be a whole number"):
        plan(**asked, votes_per_person="many")
    with pytest.raises(ParameterError, match="sort must be one of"):
        plan(**asked, sort=[])
    assert plan(**asked, draws=np.array(2)).best.name


@pytest.mark.parametrize("k", [2**31, 2**63 - 1])
def test_a_set_of_any_size_fits_into_memory(k):
    """Without a domain, k may be far above the number of items: `stable` had an array of k gaps."""
    votes = {"u": range(60), "i": ["a"] * 50 + ["b"] * 10}
    asked = {"person": "u", "item": "i", "epsilon": 1, "delta": "0.01", "mechanism": "stable", "bits": SeededBits(3)}
    assert select(votes, k=(1, k), **asked).items in ((), ("a",), ("a", "b"))
    assert select(votes, k=k, **asked).items == ()
    assert prepare({"a": 50, "b": 10}, (1, k), 1, mechanism="stable", delta="0.01").draw_many(5, SeededBits(3))


@pytest.mark.parametrize("mechanism", ["stable", "limited-domain", "threshold"])
def test_a_k_that_cannot_be_written_is_refused(mechanism):
    """Without a domain nothing bounds k, and Python writes no integer of thousands of digits into a record."""
    more = {"votes_per_person": 1} if mechanism == "threshold" else {}
    votes = {"u": [1], "i": ["a"]}
    for k in (2**63, 10**5000):
        with pytest.raises(ParameterError, match="k must be at most"):
            select(votes, person="u", item="i", k=k, epsilon=1, delta="0.1", mechanism=mechanism, **more)
    with pytest.raises(ParameterError, match="k_bar must be at most"):
        select(votes, person="u", item="i", k=1, epsilon=1, delta="0.1", mechanism="limited-domain", k_bar=10**5000)


@pytest.mark.parametrize("name", ["x" * 250, "x" * 100_000])
def test_the_name_of_an_output_may_be_too_long(name, tmp_path):
    """It was an OSError without words. SQLite's journal has a longer name than the ledger itself."""
    with pytest.raises(OutputError, match="File name too long"):
        Ledger.create(tmp_path / name, epsilon=1)
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_database_may_be_too_long():
    """It was an OSError."""
    with pytest.raises(DataError, match="must be a file that exists"):
        check(Query("x" * 100_000, "SELECT 1"), person="user", item="track", domain=["a"])


@pytest.mark.parametrize("seed", [np.array([1.0]), 1.0, True, -1, 2**256, None])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    """An array of floats was a TypeError."""
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        SeededBits(seed)
