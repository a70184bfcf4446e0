"""Counts in arrays: read without loss, shown level by level, and found again."""

import itertools
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shortlist import DataError, ParameterError, ShortlistError, prepare, top_k
from shortlist.mechanisms import Joint
from shortlist.profile import EVERY_LEVEL, Profile
from shortlist.testing import SeededBits, SystemBits
from shortlist.votes import array_counts
from shortlist.votes.array_counts import ArrayTally, read_counts

FAMILIES = {
    "low": lambda rng, d: rng.poisson(2, d),
    "Zipf": lambda rng, d: rng.zipf(1.6, d).clip(max=10**6),
    "wide": lambda rng, d: rng.integers(0, 10**9, d),
    "hundreds": lambda rng, d: rng.integers(0, 900, d),
    "above a floor": lambda rng, d: 10**9 - rng.poisson(1000, d),
    "equal": lambda rng, d: np.full(d, 7),
    "one": lambda rng, d: np.append(np.zeros(d - 1), 10**15),
    "huge": lambda rng, d: rng.integers(0, EVERY_LEVEL, d, endpoint=True),
    "rising": lambda rng, d: np.arange(d) // 3,
    "falling": lambda rng, d: d - np.arange(d) // 3,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_shows_the_levels_it_is_asked_for(name):
    """Levels and items are those of the sorted array, whatever its length, its type and its order."""
    rng = np.random.default_rng(0)
    for d in (1, 2, 7, 50, 2047, 2048, 2049, 16_384, 16_385, 50_000, 131_071):
        counts = FAMILIES[name](rng, d).astype(np.int64)
        for kind in ("int64", "uint32", "int16", "uint8"):
            if counts.max() <= np.iinfo(kind).max:
                for k, depth in itertools.product({1, min(d, 9), min(d, 3000)}, (0, 5, 4000, EVERY_LEVEL)):
                    check(counts.astype(kind), k, depth, rng)
        check(np.repeat(counts, 2)[::2], min(d, 100), 100, rng)


def check(counts, k, depth, rng):
    """Compare the levels, and k items at random places or at the top, with those of the sorted array."""
    tally, order = ArrayTally(counts), np.argsort(counts.max() - counts.astype(np.int64), kind="stable")
    whole, shown = Profile.of(counts.astype(np.int64)), tally.above(k, depth)
    levels = len(shown.values)
    assert shown.d == len(counts)
    assert (shown.values == whole.values[:levels]).all()
    assert (shown.sizes == whole.sizes[:levels]).all()
    assert levels == len(whole.values) or int(whole.values[levels]) < int(whole.top(k)[-1]) - depth
    for positions in (np.arange(k), rng.permutation(len(counts))[:k], rng.integers(0, len(counts), 3)):
        assert (tally.items(whole.picks(positions)) == order[positions]).all()


@pytest.mark.parametrize("seed", range(3))
def test_every_view_shows_the_same(seed, monkeypatch):
    """With other lengths at which one view follows another, levels and items are those of the sorted array."""
    rng = np.random.default_rng(seed)
    for _ in range(1500):
        for constant in ("_COLUMNS", "_SHORT", "_CHUNK", "_LEVELS", "_FEW_LEVELS"):
            monkeypatch.setattr(array_counts, constant, int(rng.integers(1, 16)))
        d = int(rng.integers(1, 80))
        counts = rng.integers(0, rng.choice([1, 3, 8, 50, 1000, 10**6, 2**62]), d)
        kind = rng.choice([each for each in ("int8", "uint16", "int32", "int64") if counts.max() <= np.iinfo(each).max])
        check(counts.astype(kind), int(rng.integers(1, d + 1)), int(rng.choice([0, 1, 5, 100, EVERY_LEVEL])), rng)


@pytest.mark.parametrize(
    "counts",
    [
        [3, 1, 2],
        (3, 1, 2),
        range(3, 0, -1),
        np.array([3, 1, 2], dtype=np.uint8),
        np.array([3.0, 1.0, 2.0]),
        np.array([3, 1, 2], dtype=np.float16),
        np.array([3, 1, 2], dtype=">i8"),
        np.array([3, 1, 2], dtype=object),
        np.arange(30)[3:0:-1],
        [Decimal(3), Fraction(1), 2],
        np.array([3, 1, 2], dtype=np.longdouble),
        pl.Series([3, 1, 2]),
        pa.array([3, 1, 2]),
        pa.chunked_array([[3], [1, 2]]),
    ],
    ids=lambda counts: type(counts).__name__,
)
def test_reads_whatever_becomes_whole_numbers(counts):
    """Lists, arrays of Polars and Arrow, and other number types are read without loss."""
    array, keys = read_counts(counts)
    assert array.dtype == np.int64
    assert sorted(array.tolist()) == [1, 2, 3]
    assert keys is None


def test_large_counts_are_read_to_the_last_digit():
    """Nothing is rounded on the way, whatever stands beside it."""
    assert read_counts([2**53 + 1, 1.0])[0].tolist() == [2**53 + 1, 1]
    assert read_counts(np.array([2**63 - 1], dtype=np.uint64))[0].tolist() == [2**63 - 1]
    assert read_counts(np.array([2**53, 1], dtype=np.longdouble) + 1)[0].tolist() == [2**53 + 1, 2]


def test_a_mapping_returns_its_keys():
    """A mapping names the items, in any type."""
    assert top_k({("a", 1): 9000, "b": 0, 3: 5000}, k=2, epsilon=9) == [("a", 1), 3]


@pytest.mark.parametrize("d", [50, 20_000, 200_000])
@pytest.mark.parametrize("mechanism", ["joint", "pnf-peel", "subset", "auto"])
def test_every_type_of_counts_gives_the_same_list(d, mechanism):
    """The same counts in another type of numbers, or every second one of an array, give the same items."""
    rng = np.random.default_rng(d)
    counts = np.minimum(rng.integers(0, 100, d), rng.poisson(60, d))
    counts[rng.integers(0, d, 20)] = np.arange(100, 120)
    lists = {"int64": top_k(counts, k=10, epsilon=1, mechanism=mechanism, bits=SeededBits(1)).tolist()}
    for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64", ">i4", "float64"):
        for name, same in ((kind, counts.astype(kind)), (f"{kind}, strided", np.repeat(counts.astype(kind), 2)[::2])):
            lists[name] = top_k(same, k=10, epsilon=1, mechanism=mechanism, bits=SeededBits(1)).tolist()
    assert {name for name, each in lists.items() if each != lists["int64"]} == set()


@pytest.mark.parametrize("d", [50, 20_000, 200_000])
def test_a_negative_count_of_any_type_is_refused(d):
    """Wherever it stands."""
    for kind, place in itertools.product(("int8", "int16", "int32", "int64"), (0, d // 2, d - 1)):
        counts = np.full(d, 3, dtype=kind)
        counts[place] = -1
        with pytest.raises(DataError, match="some are negative"):
            top_k(counts, k=2, epsilon=1)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16"])
def test_the_largest_number_of_a_type_is_a_count_like_others(kind):
    """Many items of a long array are found on levels up to the largest number of the type."""
    most = int(np.iinfo(kind).max)
    counts = (most - np.random.default_rng(2).integers(0, 40, 200_000)).astype(kind)
    tally, whole = ArrayTally(counts), Profile.of(counts.astype(np.int64))
    assert tally.above(1, 50).values.tolist() == whole.values.tolist()
    positions = np.arange(0, 200_000, 7)
    assert (tally.items(whole.picks(positions)) == np.argsort(-counts.astype(np.int64), kind="stable")[positions]).all()


@pytest.mark.parametrize(("below", "kind"), [(10**9, "int32"), (65536, "uint16"), (30_000, "int64"), (9, "int8")])
def test_long_counts_are_not_copied(below, kind):
    """The extra memory is far below that of the counts as int64, also if many of them or all of them matter."""
    counts = np.random.default_rng(1).integers(0, below, 3_000_000).astype(kind)
    tracemalloc.start()
    top_k(counts, k=50, epsilon=1, mechanism="joint")
    extra = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert extra < 1.25 * len(counts)


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "uint8"])
def test_a_pandas_series_returns_its_labels(dtype):
    """`value_counts` gives labels, and labels come back; equal labels are refused without being named."""
    counts = pd.Series([5, 200, 90], index=["pear", "apple", "plum"], dtype=dtype)
    assert top_k(counts, k=2, epsilon=9) == ["apple", "plum"]
    assert top_k(pd.Series(["b"] * 900 + ["a"] * 9).value_counts(), k=1, epsilon=9) == ["b"]
    assert top_k(pd.Series([5, 200, 90]), k=2, epsilon=9) == [1, 2]
    with pytest.raises(DataError, match="labels of counts must be different") as caught:
        top_k(pd.Series([1, 2], index=["pear", "pear"]), k=1, epsilon=1)
    assert "pear" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("neighbors", "neighbours"),
        ("rng", "bits"),
        ("seed", "bits"),
        ("eps", "epsilon"),
        ("n", "k"),
        ("Epsilon", "epsilon"),
    ],
)
def test_near_names_are_suggested(name, meant):
    """A parameter that does not exist is answered with the one that was meant."""
    with pytest.raises(ParameterError, match=f"no parameter '{name}'.\nHint: did you mean {meant}\\?"):
        top_k([3, 2], **{name: 1})


WRONG = {
    "negative": [3, -77, 2],
    "negative in a long array": np.append(np.zeros(1 << 18, dtype=int), -77),
    "fractional": [3.5, 77.0],
    "nan": [float("nan"), 77],
    "infinite": [float("inf"), 77],
    "a million digits": [Decimal("77e999999"), 77],
    "bool": [True, False],
    "bool array": np.array([True, False]),
    "mixed bool": [True, 77],
    "mixed bool array": np.array([np.True_, 77], dtype=object),
    "complex objects": np.array([77 + 1j], dtype=object),
    "half floats": np.array([77.5], dtype=np.float16),
    "2-D": [[77, 2], [3, 4]],
    "ragged": [[77], [1, 2]],
    "string": ["77", "3"],
    "empty": [],
    "empty mapping": {},
    "beyond int64": [2**63, 77],
    "far beyond int64": [2**70, 77],
    "uint64": np.array([2**63 + 77], dtype=np.uint64),
    "large float": [1e30],
    "complex": [77j],
    "missing": [77, None],
    "missing in Arrow": pa.array([77, None]),
    "missing in Polars": pl.Series([77, None]),
    "masked": np.ma.array([77, 3], mask=[True, False]),
    "dates": np.array(["2077-01-01"], dtype="datetime64[D]"),
    "fraction": [Fraction(77, 2)],
}


class Unused:
    """A source that must not be drawn from."""

    secure = True

    def draw(self, count):
        raise AssertionError("randomness was drawn before the input was checked")


@pytest.mark.parametrize("name", WRONG)
def test_refuses_wrong_counts(name):
    """Counts that are not whole numbers are refused before any randomness is drawn, and never quoted."""
    with pytest.raises(ShortlistError) as caught:
        top_k(WRONG[name], k=1, epsilon=1, bits=Unused())
    assert "counts must be whole numbers" in str(caught.value)
    assert "77" not in str(caught.value)


@pytest.mark.parametrize(
    "counts", [77, "77", b"77", None, {77, 3}, (n for n in (77, 3))], ids=lambda each: type(each).__name__
)
def test_refuses_what_holds_no_counts(counts):
    """What is no mapping, Series, list or array is named by its type."""
    with pytest.raises(DataError, match="must be a mapping, a Series, or a list or array of numbers, not ") as caught:
        top_k(counts, k=1, epsilon=1, bits=Unused())
    assert f"not {type(counts).__name__}." in str(caught.value)
    assert "77" not in str(caught.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_data_frame_is_for_select(make):
    """A table of votes has no counts yet."""
    with pytest.raises(DataError, match=r"not \w+\.\nHint: use select"):
        top_k(make({"user": [1], "track": [2]}), k=1, epsilon=1, bits=Unused())


@pytest.mark.parametrize(
    ("delta", "text"),
    [("x", "such as 1e-6 or 1/1000000, not 'x'"), ([], "such as 1e-6"), (0, "leave delta out for pure privacy")],
)
def test_a_wrong_delta_is_answered_with_a_fitting_one(delta, text):
    """A number such as 1 would be no delta."""
    with pytest.raises(ParameterError, match=text):
        top_k([3, 2], k=1, epsilon=1, delta=delta, bits=Unused())


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"k": 0}, "k must be a whole number from 1"),
        ({"k": 2.0}, "k must be a whole number"),
        ({"k": True}, "k must be a whole number"),
        ({"k": np.array([2])}, "k must be a whole number"),
        ({"k": -(10**5000)}, "k must be a whole number from 1, not a very long int"),
        ({"epsilon": "1e400"}, "epsilon must be"),
        ({"epsilon": "1e-400"}, "epsilon must be"),
        ({"epsilon": "1e999999999"}, "epsilon must be a finite number"),
        ({"epsilon": -Fraction(1, 10**5000)}, "epsilon must be"),
        ({"mechanism": "fastjoint", "beta": "1e400"}, "beta must be"),
        ({"mechanism": Joint(k=1, epsilon=1), "beta": 3}, "does not take beta"),
        ({"mechanism": Joint(k=2, epsilon=1)}, "disagree"),
        ({"bits": 42}, "bits must be a source of bits"),
        ({"bits": SystemBits}, "bits must be a source of bits"),
        ({"k": None}, "needs k"),
        ({"epsilon": None}, "needs epsilon"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": "much"}, "epsilon must be a finite number"),
        ({"epsilon": [1]}, "epsilon must be a number"),
        ({"epsilon": 1j}, "epsilon must be"),
        ({"mechanism": "joined"}, "did you mean 'joint'"),
        ({"mechanism": 3}, "mechanism must be one of"),
        ({"mechanism": Joint}, r"pass an object of the class, such as Joint\("),
        ({"neighbours": "swap"}, "neighbours must be 'add-remove' or 'replace'"),
        ({"beta": 0.5}, "does not take beta"),
        ({"mechanism": "fastjoint", "beta": 1}, "beta must be at least 0 and below 1"),
    ],
)
def test_refuses_wrong_parameters(parameters, text):
    """Every wrong parameter is named, before any randomness is drawn."""
    with pytest.raises(ShortlistError, match=text):
        top_k([5, 3, 1], **{"k": 1, "epsilon": 1, "bits": Unused()} | parameters)


def test_prepared_once_drawn_many_times():
    """A prepared selection draws what `top_k` draws, and keeps its own copy of the counts."""
    counts = np.arange(500) % 37
    selector = prepare(counts, k=5, epsilon=1)
    fresh = [top_k(counts, k=5, epsilon=1, bits=SeededBits(seed)).tolist() for seed in range(30)]
    counts[:] = 0
    assert [selector.draw(SeededBits(seed)).tolist() for seed in range(30)] == fresh
    assert prepare({"a": 900, "b": 1}, k=1, epsilon=1).draw() == ["a"]
