"""Without a public list of items: from votes to a release, in one call."""

import json
import random
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import SeededBits
from shortlist.ledger.charging import Ledger
from shortlist.mechanisms import Auto, LimitedDomain, Threshold
from shortlist.release import Release
from shortlist.selection import prepare, select, top_k

COMMON = {"person": "user", "item": "query", "k": 3, "epsilon": 1, "delta": "1e-6"}


def search(**options):
    return select(VOTES, **{**COMMON, **options})


def make_votes():
    """900 people: three common queries, and for each person one that nobody else has."""
    rows = [(person, query) for person in range(900) for query in ("weather", f"where lives {person}")]
    rows += [(person, "football") for person in range(600)] + [(person, "news") for person in range(400)]
    return pa.table({"user": [person for person, _ in rows], "query": [query for _, query in rows]})


VOTES = make_votes()


@pytest.mark.parametrize(
    ("options", "name"),
    [({}, "limited-domain"), ({"votes_per_person": 1}, "threshold"), ({"votes_per_person": 10**6}, "limited-domain")],
)
def test_auto_chooses_by_public_numbers(options, name):
    """Up to k items are released, d is not, and the record says which mechanism ran."""
    release = search(**options)
    assert release.items == ("weather", "football", "news")
    assert (release.mechanism, release.d, release.secure) == (name, None, True)
    assert (release.guarantee.epsilon, release.guarantee.rho_delta > 0) == (1, True)
    assert release.error_bound is None
    assert Release.from_json(release.to_json()) == release
    assert not {"domain_size", "error_bound"} & release.to_dict().keys()


def test_auto_looks_at_no_vote():
    """The same terms give the same mechanism, whatever the votes."""
    nobody = pa.table({"user": [1], "query": ["a"]})
    for options in ({}, {"votes_per_person": 2}, {"neighbours": "replace"}, {"ordered": False}):
        assert select(nobody, **COMMON, **options).parameters == search(**options).parameters


def test_an_empty_release_is_a_release(tmp_path):
    """It is printed plainly, and every file of it can be written and read."""
    release = select(pa.table({"user": [1, 2], "query": ["a", "b"]}), **COMMON)
    assert release.items == ()
    assert str(release).strip().startswith("No items (up to 3 were asked for), by limited-domain. The votes are")
    assert Release.from_json(release.to_json()) == release
    for suffix in ("json", "csv", "parquet"):
        getattr(release, f"to_{suffix}")(tmp_path / f"none.{suffix}")
    assert len(release.to_pandas()) == len(release.to_polars()) == 0


@pytest.mark.parametrize("options", [{}, {"votes_per_person": 1}, {"mechanism": "stable"}, {"counts_epsilon": 1}])
def test_columns_have_the_same_types_without_items(options):
    """A program that reads lists of text needs no special case for an empty one."""
    nothing = select(pa.table({"user": [1, 2], "query": ["a", "b"]}), **COMMON, **options, bits=SeededBits(1))
    some = search(**{**options, "k": (3, 3)} if "mechanism" in options else options, bits=SeededBits(1))
    assert (len(nothing), len(some)) == (0, 3)
    assert nothing.to_arrow().schema.equals(some.to_arrow().schema)
    assert nothing.to_polars().schema == some.to_polars().schema
    assert nothing.to_pandas().dtypes.equals(some.to_pandas().dtypes)


def test_the_record_says_that_fewer_items_are_possible():
    """A record with a wrong number, or without one, is refused."""
    stored = search().to_dict()
    assert stored["up_to"] == search().up_to == 3
    for wrong in (2, 4, "3", True, 0, None):
        with pytest.raises(DataError):
            Release.from_json(json.dumps({**stored, "up_to": wrong}))
    assert search(domain=["weather", "news", "opera"]).up_to is None


@pytest.mark.parametrize("options", [{}, {"votes_per_person": 1}, {"mechanism": "stable"}, {"counts_epsilon": 1}])
def test_no_votes_look_like_few_votes(options):
    """Whether there is a vote at all does not show in a release without items, field by field."""
    nobody, few = (
        select(
            pa.table({"user": users, "query": pa.array(queries, pa.string())}), **COMMON, **options, bits=SeededBits(3)
        )
        for users, queries in (([1], [None]), ([1, 2, 2], ["a", "b", "c"]))
    )
    assert nobody.items == few.items == ()
    assert nobody == few
    assert replace(nobody, id=few.id, made=few.made).to_json() == few.to_json()
    assert nobody.to_arrow().equals(few.to_arrow())


def test_threshold_releases_counts_without_intervals():
    """How many counts an interval would have to hold is not public."""
    release = search(mechanism="threshold", votes_per_person=4, bits=SeededBits(1))
    assert len(release.counts.values) == 3
    assert release.counts.low is release.counts.high is release.counts.confidence is None
    assert release.to_pandas().columns.tolist() == ["rank", "item", "count", "secure"]
    stored = json.loads(release.to_json())
    assert stored["counts"] == {"values": list(release.counts.values)}
    assert Release.from_json(release.to_json()) == release


def test_a_record_may_have_fewer_items_but_not_more():
    """A record with more than k items, or with the fewer items of a mechanism that needs a domain, is refused."""
    stored = search().to_dict()
    assert Release.from_json(json.dumps({**stored, "items": stored["items"][:1]})).items == ("weather",)
    with pytest.raises(DataError, match="the number of items is not k"):
        Release.from_json(json.dumps({**stored, "items": [*stored["items"], "more"]}))


def test_stable_lists_items_in_the_order_of_their_bytes():
    """The order of a set says nothing."""
    release = search(mechanism="stable", k=(3, 3), ordered=False)
    assert release.items == ("football", "news", "weather")
    assert not release.ordered


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": None}, "delta or domain must be given; neither was. Without a public list of items, an item that"),
        ({"mechanism": "joint", "delta": None}, "one of limited-domain, threshold, stable where there is no domain"),
        ({"mechanism": "subset", "delta": None}, "Hint: pass domain='catalogue.csv', a public list of all items"),
        ({"mechanism": "limited-domain", "delta": None}, "limited-domain needs delta"),
        ({"mechanism": "threshold"}, "threshold needs votes_per_person"),
        ({"mechanism": "nonsense"}, "mechanism must be one of auto"),
        ({"domain_column": "query"}, "domain_column must go with domain"),
        ({"beta": 0.1}, "limited-domain"),
        ({"count": "user", "person": None, "sensitivity": 2}, "sensitivity must be 1 where there is no domain"),
        ({"delta": 0}, "delta must be above 0 where there is no domain, not 0.\nHint: try delta=1e-6; or pass domain"),
        ({"mechanism": "stable", "delta": "0"}, "delta must be above 0 where there is no domain, not '0'"),
        ({"k": (2, 3)}, "Hint: up to so many items are released anyway; mechanism='stable' chooses a size"),
        ({"mechanism": "limited-domain", "k": [2, 3]}, "k must be one number where there is no domain, not a range"),
        ({"mechanism": "threshold", "votes_per_person": 2, "ordered": False}, "leave ordered out; mechanism='stable'"),
        ({"mechanism": "stable", "ordered": True}, "ordered must be False for stable: it gives no order, not True"),
        ({"assess": "0.1"}, "assess must go with domain.\nHint: leave assess out; or pass domain="),
        ({"assess": "0.1", "mechanism": "stable"}, "assess must go with domain"),
        ({"counts_epsilon": 1, "votes_per_person": 2}, "Hint: leave counts_epsilon out"),
    ],
)
def test_refuses_what_needs_a_domain(options, words):
    """Before any vote is read, and with what to do."""
    with pytest.raises(ParameterError) as failure:
        select(object(), **{**COMMON, **options})
    assert words in str(failure.value)


def test_takes_mechanism_objects():
    """Also auto, which stands for the choice."""
    limited = LimitedDomain(k=3, epsilon=1, delta="1e-6", k_bar=50)
    assert select(VOTES, person="user", item="query", mechanism=limited).parameters["k_bar"] == 50
    chosen = select(VOTES, person="user", item="query", mechanism=Auto(k=3, epsilon=1, delta="1e-6"))
    assert chosen.mechanism == "limited-domain"
    above = Threshold(k=3, epsilon=1, delta="1e-6", votes_per_person=4)
    assert select(VOTES, person="user", item="query", mechanism=above).parameters["votes_per_person"] == 4


def test_a_domain_may_be_used_all_the_same():
    """Then votes for other items are ignored, and d is public."""
    release = search(mechanism="limited-domain", domain=["weather", "news", "opera"])
    assert (release.items, release.d) == (("weather", "news"), 3)
    assert Release.from_json(release.to_json()) == release


def test_a_ledger_is_charged(tmp_path):
    """The release names the population, and the charge stays in the file."""
    ledger = Ledger.create(tmp_path / "ledger.db", population="searchers", epsilon=2, delta="1e-5")
    release = search(ledger=ledger)
    assert release.population == "searchers"
    assert len(Ledger.open(tmp_path / "ledger.db").charges) == 1


def test_labels_are_ranked_by_bytes():
    """The order of a mapping may say who voted first, so it does not count."""
    counts = {f"item {n:03}": 5 for n in range(80)} | {"best": 10**6}
    turned = dict(random.Random(1).sample(sorted(counts.items()), len(counts)))
    parameters = {"mechanism": "limited-domain", "k": 5, "epsilon": "0.5", "delta": "0.5", "k_bar": 6}
    lists = [[prepare(each, **parameters).draw(SeededBits(seed)) for seed in range(100)] for each in (counts, turned)]
    assert lists[0] == lists[1]
    assert any(len(each) > 1 for each in lists[0])
    with pytest.raises(DataError, match="the labels of counts must be text"):
        top_k({(1, 2): 3}, **parameters)


def test_counts_can_be_bought():
    """The counts of the items are a release of their own, and each has an interval."""
    release = search(counts_epsilon="0.5", bits=SeededBits(2))
    assert release.items == ("weather", "football", "news")
    assert (release.guarantee.epsilon, len(release.counts.low)) == (Fraction(3, 2), 3)
    assert Release.from_json(release.to_json()) == release
    with pytest.raises(ParameterError, match="threshold releases its counts already"):
        search(counts_epsilon="0.5", mechanism="threshold", votes_per_person=2)


def test_others_are_counted_without_a_domain():
    """Every vote for what is not listed counts, and nobody's vote is needed for the record."""
    asked = {**COMMON, "epsilon": 9, "counts_epsilon": 9, "votes_per_person": 2, "others": True}
    users, queries = [*range(400), *range(30)], ["weather"] * 400 + [f"q{number}" for number in range(30)]
    some = select(pa.table({"user": users, "query": queries}), **asked, mechanism="limited-domain")
    assert some.items == ("weather",)
    assert abs(some.counts.others - 30) < 15
    nobody = pa.table({"user": pa.array([1]), "query": pa.array([None], pa.string())})
    nothing = select(nobody, **asked, mechanism="limited-domain")
    assert nothing.items == ()
    assert nothing.counts.others_low == 0
    assert Release.from_json(nothing.to_json()) == nothing
