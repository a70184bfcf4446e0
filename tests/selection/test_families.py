"""A family of lists: one list for each public group, under one guarantee, in one record, for one charge."""

import copy
import csv
import json
import pickle
import warnings
from datetime import date
from fractions import Fraction
from pathlib import Path

import duckdb
import jsonschema
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from referencing import Registry, Resource

import shortlist
from shortlist import DataError, Ledger, ParameterError, Release, ReleaseFamily, UsefulnessWarning, select
from shortlist.mechanisms import Joint
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.testing import SeededBits

DOCS = Path(__file__).parents[2] / "docs"
COUNTRIES = ["DE", "FR", "IS"]
TRACKS = [f"track {number:02d}" for number in range(12)]


def make_votes():
    """Track i has 60 − 5i persons in DE, and 90 − 7i in FR. IS has one person, who is in all countries."""
    rows = [(f"d{person}", track, "DE") for i, track in enumerate(TRACKS) for person in range(60 - 5 * i)]
    rows += [(f"f{person}", track, "FR") for i, track in enumerate(TRACKS) for person in range(90 - 7 * i)]
    rows += [("all", track, country) for track in TRACKS[:4] for country in (*COUNTRIES, "XX")]
    rows += [("d0", TRACKS[0], "DE"), (None, TRACKS[0], "DE"), ("d1", None, "DE"), ("d1", TRACKS[0], None)]
    return pa.table(dict(zip(("user", "track", "country"), map(list, zip(*rows, strict=True)), strict=True)))


VOTES = make_votes()
ASKED = {"person": "user", "item": "track", "by": "country", "groups": COUNTRIES, "k": 3, "epsilon": 5}
ENGINES = {
    "arrow": lambda: VOTES,
    "dict": VOTES.to_pydict,
    "pandas": VOTES.to_pandas,
    "polars": lambda: pl.from_arrow(VOTES),
    "duckdb": lambda: duckdb.from_arrow(VOTES),
}
NEEDS = {
    "cdp-peel": {"delta": "1e-6"},
    "noisy-counts": {"votes_per_person": 4},
    "threshold": {"votes_per_person": 4},
}
WITH_DOMAIN = [
    *("auto", "joint", "margin-joint", "subset", "fastjoint", "pnf-joint", "pnf-peel", "cdp-peel", "noisy-counts"),
]


@pytest.fixture(scope="module")
def schema():
    family, release = (
        json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8")) for name in ("family", "release")
    )
    jsonschema.Draft202012Validator.check_schema(family)
    registry = Registry().with_resource("release.schema.json", Resource.from_contents(release)).crawl()
    return jsonschema.Draft202012Validator(family, registry=registry)


def make(**changes):
    return select(VOTES, **{**ASKED, "domain": TRACKS, "groups_per_person": 2, **changes})


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_makes_the_same_family(engine):
    """Lists of a seed are the same, group by group, and stand in the order of the public list."""
    asked = {**ASKED, "epsilon": 50, "groups_per_person": 3, "mechanism": "joint"}
    with pytest.warns(UsefulnessWarning, match="epsilon above 20"):
        family = select(ENGINES[engine](), **asked, domain=TRACKS, bits=SeededBits(5))
    assert list(family) == COUNTRIES
    assert [family[country].items for country in ("DE", "FR")] == [tuple(TRACKS[:3])] * 2
    with pytest.warns(UsefulnessWarning):
        assert family == select(VOTES, **asked, domain=TRACKS, bits=SeededBits(5))


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", WITH_DOMAIN)
def test_every_mechanism_with_a_domain(mechanism, relation, schema):
    """Each makes a family that is one record, which follows the schema and is read again."""
    extras = [{}, {"assess": "0.5"}, {"counts_epsilon": 1}]
    if mechanism == "noisy-counts":
        extras.pop()
    if mechanism == "fastjoint":
        extras.pop(1)
    for extra in extras:
        family = make(mechanism=mechanism, neighbours=relation, **NEEDS.get(mechanism, {}), **extra)
        assert family.guarantee.epsilon == 5 + sum(Fraction(value) for value in extra.values())
        assert [len(each) for each in family.lists] == [3, 3, 3]
        assert all((each.assessment is None) == ("assess" not in extra) for each in family.lists)
        assert ("count" in family.to_polars().columns) == (family.lists[0].counts is not None)
        check_record(family, schema)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_every_list_has_a_count_of_others(relation, schema):
    """Each group has the votes for its own items that are not listed."""
    bought = {"counts_rho": 80, "counts_delta": "1e-6", "others": True}
    asked = {
        "epsilon": 15,
        "votes_per_person": 12,
        "groups_per_person": 1,
        "mechanism": "joint",
        "neighbours": relation,
    }
    with pytest.warns(UsefulnessWarning):
        family = make(**asked, **bought)
    # The one person of IS counts in one group. So DE and FR have a vote more or not, and 3 listed items each.
    for country, listed, votes in (("DE", 165, 390), ("FR", 249, 618)):
        found = family[country].counts
        assert family[country].items == tuple(TRACKS[:3])
        assert abs(sum(found.values) - listed) < 40
        assert found.others_low - 4 <= votes - listed <= found.others_high + 4
    assert "The record has a noisy count of the votes for the other items of each group, too." in str(family)
    check_record(family, schema)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", ["auto", "limited-domain", "threshold", "stable"])
def test_every_mechanism_without_a_domain(mechanism, relation, schema):
    """Each releases up to k items of each group, and what only one person chose is not among them."""
    asked = {**ASKED, "mechanism": mechanism, "neighbours": relation, "delta": "1e-9", "votes_per_person": 4}
    family = select(VOTES, **asked)
    assert family.up_to == 3
    assert not family["IS"]
    assert all(each.domain_size is None for each in family.lists)
    assert "empty" in str(family)
    check_record(family, schema)


def check_record(family, schema):
    stored = family.to_dict()
    schema.validate(stored)
    again = ReleaseFamily.from_json(family.to_json())
    assert (again, again.id, again.to_dict()) == (family, family.id, stored)
    assert pickle.loads(pickle.dumps(family)) == family == copy.deepcopy(family)
    assert hash(again) == hash(family)


def test_several_columns_make_a_group(tmp_path, schema):
    """A group is a tuple then. Its values keep their types, in a dict, a frame and a file."""
    months = [date(2026, 1, 1), date(2026, 2, 1)]
    months_of_votes = [months[row % 2] for row in range(len(VOTES))]
    votes = VOTES.append_column("month", pa.array(months_of_votes))
    groups = {"month": months * 2, "country": ["DE", "DE", "FR", "FR"]}
    pq.write_table(pa.table(groups), tmp_path / "groups.parquet")
    tuples = list(zip(groups["country"], groups["month"], strict=True))
    for given in (groups, pd.DataFrame(groups), tmp_path / "groups.parquet", tuples):
        asked = {**ASKED, "by": ["country", "month"], "groups": given, "domain": TRACKS}
        family = select(votes, **asked, votes_per_person=3)
        assert list(family) == tuples
        assert family.parameters["groups_per_person"] == 3
        assert family["DE", months[0]].group == ("DE", months[0])
        assert family.to_polars().columns[:3] == ["country", "month", "rank"]
        check_record(family, schema)


def test_a_catalogue_may_name_the_groups(schema):
    """Without a list of groups they are those of the catalogue, each with its own items and its own bound."""
    catalogue = {
        "country": ["DE"] * 12 + ["FR"] * 4,
        "track": TRACKS + TRACKS[:4],
        "title": [f"title of {track}" for track in TRACKS + TRACKS[:4]],
    }
    asked = {**ASKED, "groups": None, "domain": catalogue, "label": "title", "groups_per_person": 1}
    family = select(VOTES, **asked, mechanism="joint")
    assert [each.domain_size for each in family.lists] == [12, 4]
    assert family["DE"].error_bound.votes > family["FR"].error_bound.votes
    assert family["FR"].labels["title"] == tuple(f"title of {track}" for track in family["FR"])
    check_record(family, schema)
    with pytest.raises(DataError, match="at most the number of items of each group; k is 5, and a group has 4"):
        select(VOTES, **{**asked, "k": 5})


def test_counts_may_be_given():
    """A table of counts has groups, too. The caller vouches for the limit."""
    counts = {"country": ["DE", "DE", "FR", "FR"], "track": ["a", "b"] * 2, "n": [900, 1, 2, 700]}
    asked = {"count": "n", "item": "track", "domain": ["a", "b"], "by": "country", "groups": ["FR", "DE"]}
    family = select(counts, **asked, groups_per_person=1, k=1, epsilon=1)
    assert [each.items for each in family.lists] == [("b",), ("a",)]
    assert "The caller states that one person adds at most 1, in at most 1 group." in str(family)
    assert ReleaseFamily.from_json(family.to_json()) == family


@pytest.mark.parametrize(
    ("limits", "c"),
    [
        ({"groups_per_person": 2}, 2),
        ({"groups_per_person": 9}, 3),
        ({"groups_per_person": None, "votes_per_person": 2}, 2),
        ({"groups_per_person": None, "votes_per_person": 20}, 3),
        ({"groups_per_person": 3, "votes_per_person": 1}, 1),
    ],
)
def test_the_limit_is_the_smallest_of_all(limits, c):
    """A person is in at most c groups: what is given, not above the votes of a person and the number of groups."""
    family = make(mechanism="joint", **limits)
    assert family.parameters["groups_per_person"] == c
    assert family.guarantee == Joint(k=3, epsilon=5, groups_per_person=c).guarantee
    assert family.guarantee.rho == Fraction(25, 8 * c)


def test_extras_are_bought_for_all_lists():
    """Noise on counts is for what one person moves in all lists, and that of an assessment is for c lists."""
    one, three = (make(groups_per_person=c, counts_epsilon=1, mechanism="joint")["DE"] for c in (1, 3))
    capped = make(groups_per_person=3, votes_per_person=1, counts_epsilon=1, mechanism="joint")["DE"]
    widths = [each.counts.high[0] - each.counts.values[0] for each in (one, three, capped)]
    assert widths[0] * 2 < widths[1]
    assert widths[2] < widths[0]
    one, three = (make(groups_per_person=c, assess=1, mechanism="joint")["DE"] for c in (1, 3))
    assert one.assessment.margin * 2 < three.assessment.margin


def test_a_mechanism_object_may_be_given():
    """It carries its parameters. The limit is that of the family, and two limits must agree."""
    asked = {name: value for name, value in ASKED.items() if name not in ("k", "epsilon")} | {"domain": TRACKS}
    joint = Joint(k=3, epsilon=5)
    assert select(VOTES, **asked, mechanism=joint, groups_per_person=2).parameters["groups_per_person"] == 2
    limited = Joint(k=3, epsilon=5, groups_per_person=8)
    assert select(VOTES, **asked, mechanism=limited).parameters["groups_per_person"] == 3
    with pytest.raises(ParameterError, match="must agree"):
        select(VOTES, **asked, mechanism=limited, groups_per_person=2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"groups_per_person": None}, "`groups_per_person` or `votes_per_person` must be given with `by`"),
        ({"by": None, "groups": None}, "`groups_per_person` must go with `by`"),
        ({"by": None, "groups_per_person": None}, "`groups` must go with `by`"),
        ({"by": []}, "it is empty"),
        ({"by": 3}, "`by` must be a column"),
        ({"by": "rank"}, "must not be called like a column"),
        ({"by": "remark"}, "must not be called like a column"),
        ({"by": "pays\u00a0d'origine"}, "by must be columns whose names are one line"),
        ({"by": "a\nb"}, "by must be columns whose names are one line"),
        ({"by": "people"}, "must not be called like a column"),
        ({"min_people": 5}, "`min_people` must go with `people_epsilon`"),
        ({"people_epsilon": 0}, "people_epsilon"),
        ({"person": None, "count": "user", "people_epsilon": 1}, "`people_epsilon` must go with `person`"),
        (
            {"by": None, "groups": None, "groups_per_person": None, "people_epsilon": 1},
            "`people_epsilon` must go with `by`",
        ),
        ({"by": ["country", "country"]}, "different"),
        ({"groups_per_person": 0}, "groups_per_person"),
        ({"groups_per_person": "two"}, "groups_per_person"),
        ({"mechanism": "noisy-counts"}, "noisy-counts needs `votes_per_person`"),
        ({"domain": None}, "`delta` or `domain` must be given"),
        ({"domain": None, "delta": "1e-6", "assess": 1}, "`assess` must go with `domain`"),
        ({"groups": None}, "groups"),
        ({"groups": []}, "groups"),
        ({"k": 13}, "at most the number of items of each group"),
    ],
    ids=repr,
)
def test_refuses_what_makes_no_sense(changes, words, tmp_path):
    """Nothing is charged for a request that is wrong."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10)
    with pytest.raises((ParameterError, DataError)) as caught:
        make(**changes, ledger=ledger)
    assert words.replace("`", "") in str(caught.value).replace("`", "")
    assert not ledger.charges


def test_one_list_has_no_groups():
    """A mechanism for a family promises less about one list than it could, so it is refused there."""
    with pytest.raises(ParameterError, match="must go with"):
        shortlist.top_k([3, 2, 1], mechanism=Joint(k=1, epsilon=1, groups_per_person=2))


def test_a_family_is_one_charge(tmp_path):
    """The ledger is charged what all lists promise together, and finds the record again."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10, population="listeners")
    family = make(ledger=ledger, note="weekly charts", period="2026-W03", counts_epsilon=1)
    (charge,) = ledger.charges
    assert (charge.guarantee, charge.note) == (family.guarantee, "weekly charts")
    assert family.guarantee.epsilon == ledger.spent.epsilon == 6
    assert (family.charge, family.ledger, family.population) == (1, ledger.id, "listeners")
    again = ReleaseFamily.from_json(family.to_json())
    assert ledger.verify(again) == ledger.charges[0]
    changed = family.to_dict()
    changed["lists"][0]["items"][:2] = changed["lists"][0]["items"][1::-1]
    with pytest.raises(shortlist.LedgerError, match="changed"):
        ledger.verify(ReleaseFamily.from_json(json.dumps(changed)))
    with pytest.raises(shortlist.BudgetError):
        make(ledger=ledger)


def test_small_groups_are_marked(tmp_path):
    """A list whose bound is at least the people of its group is marked in every output, and one warning sums it up."""
    groups = pa.table({"country": COUNTRIES, "people": [100_000, 90_000, 4]})
    with pytest.warns(UsefulnessWarning, match="1 of 3 lists may hold random items") as caught:
        family = make(groups=groups, mechanism="joint")
    assert len(caught) == 1
    assert [each.remark for each in family.lists] == [None, None, "may be random"]
    assert [each.people for each in family.lists] == [100_000, 90_000, 4]
    family.to_csv(tmp_path / "charts.csv")
    rows = list(csv.DictReader((tmp_path / "charts.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["remark"] for row in rows] == [""] * 6 + ["may be random"] * 3
    assert family.to_dict()["lists"][2]["remark"] == "may be random"
    assert "1 of 3 lists may be random" in family.explain()
    assert ReleaseFamily.from_json(family.to_json()) == family


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", [*WITH_DOMAIN, "limited-domain", "threshold", "stable"])
def test_every_mechanism_leaves_out_small_groups(mechanism, relation, schema):
    """A group with too few people has no list, and the record says so and is read again."""
    asked = {"neighbours": relation, "mechanism": mechanism, **NEEDS.get(mechanism, {})}
    if mechanism not in WITH_DOMAIN:
        asked |= {"domain": None, "delta": "1e-6"}
    family = make(**asked, people_epsilon=10, min_people=20)
    assert family.guarantee.epsilon == 15
    assert [each.is_left_out for each in family.lists] == [False, False, True]
    assert (len(family["IS"]), family["IS"].error_bound, family["IS"].counts) == (0, None, None)
    assert mechanism not in WITH_DOMAIN or [len(family[country]) for country in ("DE", "FR")] == [3, 3]
    for each, people in zip(family.lists, (61, 91, 1), strict=True):
        assert abs(each.noisy_people.value - people) < 10
        assert each.noisy_people.low <= each.noisy_people.high
    check_record(family, schema)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_people_after_the_limits(engine):
    """A person who is in three groups and counts in one is one of its people, and of no other."""
    with pytest.warns(UsefulnessWarning, match="epsilon above 20"):
        family = select(ENGINES[engine](), **ASKED, domain=TRACKS, groups_per_person=1, people_epsilon=1000)
    assert sum(each.noisy_people.value for each in family.lists) == 60 + 90 + 1


def test_outputs_show_people_and_groups_without_a_list(tmp_path, schema):
    """A group without a list has one row: its noisy number of people, and why there is no list."""
    family = make(
        people_epsilon=10, min_people=20, counts_epsilon=5, label="title", domain={"track": TRACKS, "title": TRACKS}
    )
    shown = [
        "country",
        "rank",
        "item",
        "title",
        "count",
        "low",
        "high",
        "people",
        "people_low",
        "people_high",
        "remark",
    ]
    family.to_csv(tmp_path / "charts.csv")
    family.to_parquet(tmp_path / "charts.parquet")
    rows = list(csv.DictReader((tmp_path / "charts.csv").read_text(encoding="utf-8").splitlines()))
    assert list(rows[0]) == shown
    last = {**dict.fromkeys(shown[1:7], ""), "country": "IS", "remark": "too few people"}
    assert rows[6].items() >= last.items()
    assert len(rows) == 7
    assert int(rows[6]["people"]) == family["IS"].noisy_people.value
    for frame in (family.to_polars(), pl.from_pandas(family.to_pandas()), pl.read_parquet(tmp_path / "charts.parquet")):
        assert frame.columns == shown
        assert frame["rank"].to_list() == [1, 2, 3, 1, 2, 3, None]
        assert frame["people"].to_list()[::3] == [each.noisy_people.value for each in family.lists]
    for text in (str(family), family._repr_html_(), family.explain()):
        assert "2 lists by country (1 of 3 groups has too few people)" in text
        assert "Groups with fewer than 20 have no list." in text
    assert "too few people" in repr(family)
    check_record(family, schema)


def test_a_family_may_have_no_list_at_all(schema):
    """If all groups have too few people, nothing is drawn, and auto chooses nothing. The charge is the same."""
    family = make(people_epsilon=1, min_people=10_000)
    assert not any(family.values())
    assert "chosen" not in family.parameters
    assert family.guarantee == make(people_epsilon=1).guarantee
    assert "0 lists by country (3 of 3 groups have too few people)" in str(family)
    assert family.to_polars()["item"].to_list() == [None] * 3
    check_record(family, schema)


def test_a_group_without_a_list_is_no_list_that_may_be_random():
    """The warning counts the lists that were drawn."""
    with pytest.warns(UsefulnessWarning, match="2 of 2 lists may hold random items"):
        make(mechanism="joint", epsilon="0.1", people_epsilon=10, min_people=20)


def test_noisy_people_mark_lists_that_may_be_random():
    """Without public numbers, the bound is compared with the noisy ones, and a public number comes first."""
    with pytest.warns(UsefulnessWarning, match="1 of 3 lists may hold random items") as caught:
        family = make(mechanism="joint", people_epsilon=10)
    assert len(caught) == 1
    assert [each.remark for each in family.lists] == [None, None, "may be random"]
    assert "1 of 3 lists may be random: the bound is at least the people there, by the noisy number." in str(family)
    public = make(mechanism="joint", people_epsilon=10, groups={"country": COUNTRIES, "people": [900] * 3})
    assert [each.remark for each in public.lists] == [None] * 3


def test_people_are_charged_before_a_row_is_read(tmp_path):
    """The ledger is charged for the lists of all groups, whether they are drawn or not, and for the people."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10, neighbours="replace")
    family = make(ledger=ledger, mechanism="joint", people_epsilon=2, min_people=20, neighbours="replace")
    (charge,) = ledger.charges
    assert charge.guarantee == family.guarantee
    # A person may be in two of three groups: at most three numbers move.
    assert family.guarantee.rho == Fraction(25, 16) + 3 * find_rho_of_pure(Fraction(2, 3))
    assert ledger.verify(ReleaseFamily.from_json(family.to_json())) == charge


PEOPLE_CONTRADICTIONS = {
    "a list of a small group": (["lists", 2, "items"], ["a", "b", "c"], "has a list"),
    "another number": (["lists", 0, "noisy_people", "value"], 3, "remark differs|noisy_people differs|error_bound"),
    "another interval": (["lists", 0, "noisy_people", "low"], 3, "noisy_people differs"),
    "another limit": (["parameters", "min_people"], 10_000, "differs"),
    "another price": (["parameters", "people_epsilon"], "1", "epsilon differs"),
    "no number": (["lists", 0, "noisy_people"], None, "do not go with the parameters"),
}


@pytest.mark.parametrize("name", PEOPLE_CONTRADICTIONS)
def test_refuses_records_whose_people_contradict(name):
    """What follows from a noisy number of people must follow from the one in the record."""
    path, value, words = PEOPLE_CONTRADICTIONS[name]
    stored = make(mechanism="joint", people_epsilon=10, min_people=20).to_dict()
    place = stored
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    if value is None:
        del place[path[-1]]
    with pytest.raises(DataError, match="must not contradict itself; in the text, .*(" + words + ")"):
        ReleaseFamily.from_json(json.dumps(stored))


def test_outputs_have_one_row_for_each_place(tmp_path):
    """Groups, ranks and items stand in CSV, Parquet and frames alike, and the metadata hold the record."""
    family = make(counts_epsilon=1)
    family.to_csv(tmp_path / "charts.csv")
    family.to_parquet(tmp_path / "charts.parquet")
    expected = [(country, place, item) for country in COUNTRIES for place, item in enumerate(family[country], 1)]
    read = list(csv.reader((tmp_path / "charts.csv").read_text(encoding="utf-8").splitlines()))
    assert read[0] == ["country", "rank", "item", "count", "low", "high"]
    assert [(row[0], int(row[1]), row[2]) for row in read[1:]] == expected
    for frame in (family.to_polars(), pl.from_pandas(family.to_pandas()), pl.read_parquet(tmp_path / "charts.parquet")):
        assert frame.select("country", "rank", "item").rows() == expected
    assert ReleaseFamily.from_parquet(tmp_path / "charts.parquet") == family


def test_text_shows_the_first_lists():
    """A console and a notebook show whole lists, how many more there are, and what is promised, without markup."""
    groups = [f"<b>{number}" for number in range(40)]
    family = make(groups=groups, votes_per_person=3)
    for text in (repr(family), str(family), family._repr_html_()):
        assert "… and 34 more lists" in text
        assert "40 lists by country: the top 3 of 12 items in each, by auto, which chose " in text
    assert "<b>" not in family._repr_html_()
    assert "At most 3 votes of each person, in at most 2 groups, are counted." in family.explain()
    assert str(family["<b>0"].items[0]) in repr(family["<b>0"])
    with pytest.raises(KeyError):
        family["DE"]


def test_a_seed_is_marked():
    """Repeatable randomness is said first, and stands in every row."""
    family = make(bits=SeededBits(1))
    assert not family.secure
    assert family.caption()[0].startswith("NOT SECURE")
    assert family.to_polars()["secure"].to_list() == [False] * 9


def test_sets_have_no_order():
    """Each is in the order of the domain, with its noisy counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UsefulnessWarning)
        family = make(ordered=False, mechanism="subset", epsilon=80, counts_epsilon=80, domain=TRACKS[::-1])
    assert family["DE"].items == tuple(TRACKS[:3])
    assert list(family["DE"].counts.values) == sorted(family["DE"].counts.values, reverse=True)
    assert "rank" not in family.to_polars().columns


CONTRADICTIONS = {
    "epsilon": (["guarantee", "epsilon"], "0.1", "epsilon differs"),
    "rho": (["guarantee", "rho"], "0.001", "promises more"),
    "fewer groups of a person": (["parameters", "groups_per_person"], 1, "promises more|differ"),
    "more groups than there are": (["parameters", "groups_per_person"], 4, "differ"),
    "no limit": (["parameters"], {"k": 3, "epsilon": "5", "neighbours": "add-remove"}, "cannot have these parameters"),
    "an item twice": (["lists", 1, "items"], ["a", "a", "b"], "named twice"),
    "fewer items": (["lists", 1, "items"], ["a"], "number of items"),
    "another bound": (["lists", 1, "error_bound", "votes"], 1, "error_bound differs"),
    "another domain": (["lists", 1, "domain_size"], 4000, "error_bound differs"),
    "a mark": (["lists", 0, "remark"], "may be random", "remark differs"),
    "people": (["lists", 0, "people"], 1, "remark differs"),
    "a field that is not known": (["lists", 0, "more"], 1, "a field is not known"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_refuses_records_that_contradict_themselves(name):
    """A record that was changed in one place only is refused, and the error names no item."""
    path, value, words = CONTRADICTIONS[name]
    stored = make(mechanism="joint").to_dict()
    place = stored
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(DataError, match="must not contradict itself; in the text, .*(" + words + ")"):
        ReleaseFamily.from_json(json.dumps(stored))


@pytest.mark.parametrize(
    "change",
    [
        {"by": []},
        {"by": ["country", "week"]},
        {"by": ["rank"]},
        {"by": "country"},
        {"lists": []},
        {"lists": {}},
        {"lists": [{}]},
        {"lists": [{"group": ["DE"]}]},
        {"lists": [{"group": [None], "items": []}]},
        {"lists": [{"group": ["DE"], "items": []}, {"group": ["DE"], "items": []}]},
        {"lists": [{"group": ["DE"], "items": [1.5]}]},
        {"lists": [{"group": ["DE"], "items": ["a"], "people": -1}]},
        {"lists": [{"group": ["DE"], "items": ["a"], "remark": 7}]},
        {"schema": "shortlist.release/3"},
        {"secure": "yes"},
        {"id": "7"},
    ],
    ids=repr,
)
def test_refuses_other_json(change, schema):
    """What is no record of a family is refused by the reader, and for the most part by the schema."""
    stored = {**make(mechanism="joint").to_dict(), **change}
    with pytest.raises(DataError):
        ReleaseFamily.from_json(json.dumps(stored))


def test_a_record_is_read_as_what_it_is(schema):
    """A family is no release, and a release is no family. The schema tells them apart."""
    family, release = make(), shortlist.prepare([3, 2, 1], k=1, epsilon=1).release()
    for kind, other in ((Release, family), (ReleaseFamily, release)):
        with pytest.raises(DataError, match="must follow the schema"):
            kind.from_json(other.to_json())
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(release.to_dict())
    with pytest.raises(jsonschema.ValidationError):
        schema.validate({**family.to_dict(), "lists": [{"items": ["a"]}]})


@pytest.mark.parametrize("group", [[], {}, "", ["DE", "FR"]])
def test_refuses_a_record_whose_group_has_no_single_value(group):
    """A group of one column has one value."""
    stored = make(mechanism="joint").to_dict()
    stored["lists"][0]["group"] = group
    with pytest.raises(DataError):
        ReleaseFamily.from_json(json.dumps(stored))


def test_refuses_a_mechanism_that_may_not_know_families():
    """A mechanism from outside states what one list promises: the losses of several lists would add up."""

    class Mine(Joint):
        __slots__ = ()
        name = "mine"

    with pytest.raises(ParameterError, match="by must go with a mechanism of this library"):
        make(k=None, epsilon=None, mechanism=Mine(k=3, epsilon=1))


@pytest.mark.parametrize("more", [{}, {"per": "week"}])
def test_a_unit_names_no_period_where_persons_are_counted(more):
    """Only `per` makes the guarantee one for a person in a period, so a record of it says which days it is about."""
    votes = {"user": [1, 2], "track": ["a", "b"], "day": [date(2026, 8, 31)] * 2}
    days = {"time": "day", "every": "week", "since": "2026-08-31", "until": "2026-09-06"}
    asked = {"item": "track", "domain": ["a", "b"], "k": 1, "epsilon": 1}
    with pytest.raises(
        ParameterError, match=r"unit must be the word for a whole person, not 'user-week'\.\nHint: .*per="
    ):
        select(votes, person="user", **days, **asked, groups_per_person=1, unit="user-week", **more)
    made = select({"track": ["a"], "n": [9]}, count="n", **asked, unit="user-week")  # the caller says who was counted
    assert Release.from_json(made.to_json()).guarantee.unit == "user-week"
