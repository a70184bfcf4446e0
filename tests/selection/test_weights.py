"""A release of votes with weights: its list, its words, its record, its charge, and what plan and check say."""

import pyarrow as pa
import pytest

from shortlist import Ledger, plan, select
from shortlist.errors import ParameterError, ShortlistError
from shortlist.release import Publication
from shortlist.testing import SeededBits
from shortlist.votes.check import check

VOTES = pa.table(
    {
        "user": [n % 3000 for n in range(9000)],
        "track": ["many minutes"] * 3000 + ["cut"] * 2000 + ["many people"] * 4000,
        "play_minutes": [25] * 3000 + [900] * 2000 + [3] * 4000,
        "city": [n % 2 for n in range(9000)],
    }
)
TRACKS = ["cut", "many minutes", "many people", "none"]
ASKED = {"person": "user", "item": "track", "domain": TRACKS, "k": 2, "epsilon": 1, "mechanism": "joint"}
WEIGHED = {**ASKED, "weight": "play_minutes", "max_weight": 30, "weight_unit": "minutes"}


def test_the_list_is_of_sums_that_are_cut():
    """People decide without weights, and weights up to the largest one decide with them."""
    assert set(select(VOTES, **ASKED)) != {"cut", "many minutes"}
    assert select(VOTES, **WEIGHED).items == ("many minutes", "cut")
    assert select(VOTES, **{**WEIGHED, "max_weight": 1000}).items == ("cut", "many minutes")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"counts_epsilon": 1, "assess": 1},
        {"mechanism": "noisy-counts", "votes_per_person": 2},
        {"by": "city", "groups": [0, 1], "groups_per_person": 2, "people_epsilon": 1},
        {"votes_per_person": 2, "counts_epsilon": 1, "others": True, "neighbours": "replace"},
    ],
    ids=["list", "extras", "noisy", "family", "others"],
)
def test_a_release_speaks_of_the_unit_and_its_record_is_read_again(more):
    """Captions and bounds have minutes, not votes. The record holds the largest weight and the unit."""
    release = select(VOTES, **{**WEIGHED, **more}, bits=SeededBits(1))
    words = " ".join([*release.caption(), release.explain()])
    assert " minutes" in words
    assert "votes" not in words.replace("choices of votes", "")
    assert release.to_dict()["parameters"]["max_weight"] == 30
    assert Publication.from_json(release.to_json()) == release
    assert release.guarantee.epsilon == 1 + sum(name in more for name in ("counts_epsilon", "assess", "people_epsilon"))
    changed = release.to_json().replace('"max_weight": 30', '"max_weight": 3')
    with pytest.raises(ShortlistError, match="contradict"):
        Publication.from_json(changed)


def test_the_column_is_the_unit_by_itself():
    """Its name is written with blanks."""
    release = select(VOTES, **{**WEIGHED, "weight_unit": None})
    assert release.parameters["weight_unit"] == "play minutes"


def test_a_useless_list_is_told_from_the_people_and_the_largest_weight():
    """A bound is compared with what all people can add to an item."""
    with pytest.warns(UserWarning, match="10 people, with at most 30 minutes each for an item"):
        select(VOTES.slice(0, 20), **WEIGHED, people=10)


def test_a_key_is_for_one_column_one_limit_and_one_unit(tmp_path):
    """The same request gives the same release, and another weight is another request."""
    ledger = Ledger.create(tmp_path / "budget.ledger", epsilon=10)
    first = select(VOTES, **WEIGHED, ledger=ledger, once="2026-W36")
    assert select(VOTES, **WEIGHED, ledger=ledger, once="2026-W36") == first
    for other in ({"max_weight": 60}, {"weight_unit": "min"}, {"weight": "city"}):
        with pytest.raises(ParameterError, match=next(iter(other))):
            select(VOTES, **{**WEIGHED, **other}, ledger=ledger, once="2026-W36")
    assert ledger.spent.epsilon == 1


def test_a_check_tells_what_a_limit_cuts_off():
    """With types and without, what each person adds to each item, and the share above the limit."""
    asked = {name: WEIGHED[name] for name in ("person", "item", "domain", "weight", "max_weight")}
    columns = {name: column.to_pylist() for name, column in zip(VOTES.column_names, VOTES.columns, strict=True)}
    columns["play_minutes"][-1] = "unreadable"
    for votes, without in ((VOTES, 0), (columns, 1)):
        found = check(votes, **asked)
        assert found.weights.rows_without == without
        assert dict(found.weights.quantiles)[1.0] == 900
        assert found.weights.share_above == pytest.approx(2000 / 9000, abs=0.1)
        assert found.votes == 25 * 3000 + 30 * 2000 + 3 * (4000 - without)
        assert "above the limit of 30" in str(found)
        assert "No matched row weighs anything" not in str(found)
    text = {**columns, "play_minutes": ["long"] * len(columns["user"])}
    without_numbers = str(check(text, **asked))
    assert "No matched row weighs anything" in without_numbers
    assert "above the limit" not in without_numbers


def test_a_plan_divides_sums_by_the_largest_weight():
    """It forecasts the same lists as for votes without weights, and its command has the weights."""
    sums = {f"i{n}": 60 * (1000 - 30 * n) for n in range(30)}
    options = {"k": 3, "epsilon": 1, "draws": 50}
    weighed = plan(sums, max_weight=60, weight_unit="minutes", **options)
    votes = plan({name: total // 60 for name, total in sums.items()}, **options)
    assert [each.recall for each in weighed.forecasts] == [each.recall for each in votes.forecasts]
    assert "--max-weight 60 --weight-unit minutes" in weighed.command
    assert "sensitivity=60" in weighed.call
    assert "1 vote of this plan stands for 60 minutes" in weighed.planner.counts.source
    invented = plan(like="zipf", items=100, people=10**4, max_weight=60, **options)
    assert (
        invented.planner.counts.shown[0].counts[0]
        < plan(like="zipf", items=100, people=10**4, **options).planner.counts.shown[0].counts[0]
    )
    with pytest.raises(ParameterError, match="delta"):
        plan(sums, max_weight=60, delta="1e-6", **options)
