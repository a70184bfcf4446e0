"""Plans of families: the recall by size of group, the limits, the inverse, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shortlist
from shortlist.errors import DataError, ParameterError
from shortlist.mechanisms import Auto, NoisyCounts, PNFPeel
from shortlist.planning import advice
from shortlist.planning.constraints import Constraints
from shortlist.planning.counts import invent_habits, read_count_files
from shortlist.profile import Profile
from shortlist.testing import SeededBits

INVENTED = {"like": "zipf", "items": 3000, "people": 50_000, "votes_cast": 12, "groups_visited": 4, "group_count": 60}


@pytest.fixture(scope="module")
def made():
    """A plan of an invented family, in which all limits are chosen."""
    return shortlist.plan(**INVENTED, k=5, epsilon=2, delta="1e-6", draws=120)


def test_recall_is_forecast_by_the_size_of_the_group(made):
    """Large groups have better lists than small ones; the whole is their mean; words and numbers agree."""
    best, row = made.forecasts[0], made.table[0]
    assert list(best.by_size) == ["large", "middle", "small"]
    large, middle, small = (best.by_size[name].mean for name in best.by_size)
    assert large >= middle >= small
    assert best.recall.mean == pytest.approx((large + middle + small) / 3)
    assert row["recall_small"] == small
    for share in (best.recall.mean, large, middle, small):
        assert advice.write_share(share) in made.advice.choice
    cells = made.cells[best.name]
    assert (cells["recall"], cells["small"]) == (f"{best.recall.mean:.2f}", f"{small:.2f}")


def test_limits_are_chosen_for_each_mechanism(made):
    """Lists depend on the groups of a person, noise on all cells on the votes; the best of those tried is taken."""
    rows = {row["mechanism"]: row for row in made.table}
    assert rows["noisy-counts"]["votes_per_person"] in (1, 2, 5, 10, 20, 50)
    assert rows["noisy-counts"]["groups_per_person"] is None
    assert rows["joint"]["groups_per_person"] in (1, 2, 3, 4)
    for name, trials in made.tried.items():
        limits = next(each.constraints for each in made.forecasts if each.name == name)
        assert limits == max(trials, key=lambda each: round(each.recall.mean, 3)).constraints
    record = json.loads(made.to_json())
    assert record["groups"] == 60
    assert {each["mechanism"] for each in record["limits_tried"]} == set(made.tried)
    assert f"Recall by the limits that were tried with {made.best.name}" in made._repr_html_()


def test_limits_that_are_given_are_kept():
    """They are neither changed nor dropped, and the command has them."""
    made = shortlist.plan(**INVENTED, k=5, epsilon=2, groups_per_person=3, votes_per_person=7, draws=60)
    assert {each.constraints.limits for each in made.forecasts} == {"3 groups and 7 votes of each person"}
    assert {each.mechanism.groups_per_person for each in made.forecasts} == {3}
    assert "--by group --groups groups.csv" in made.command
    assert "--groups-per-person 3" in made.command or "--votes-per-person 7 --groups-per-person 3" in made.command
    assert "--votes-per-person 7" in made.command
    assert made.tried == {}


def test_what_limits_leave_is_computed():
    """A limit on votes cuts those who cast more; one on groups leaves the share of the groups that are kept."""
    habits = invent_habits(12, 4, Constraints(groups=60))
    assert habits.votes.mean() == pytest.approx(12)
    assert np.median(habits.votes) < 8
    kept = [habits.keep(Constraints(votes_per_person=m)) for m in (1, 5, 20, 1000)]
    assert kept == sorted(kept)
    assert kept[0] == pytest.approx(1 / 12, rel=0.02)
    assert kept[-1] == 1
    assert habits.keep(Constraints(groups=60, groups_per_person=4)) == 1
    assert 0.25 <= habits.keep(Constraints(groups=60, groups_per_person=1)) < 0.4


def test_a_forecast_of_a_family_is_what_families_get():
    """Families that are drawn as a release draws them have the mean recall of the forecast."""
    counts = {name: [int(size / rank) for rank in range(1, 200)] for name, size in (("a", 900), ("b", 120), ("c", 30))}
    for mechanism in ("pnf-peel", "noisy-counts", "auto"):
        made = shortlist.plan(counts, k=5, epsilon=2, groups_per_person=2, votes_per_person=6, draws=900)
        found = next(each for each in made.forecasts if each.name == mechanism)
        kind = {"pnf-peel": PNFPeel, "noisy-counts": NoisyCounts, "auto": Auto}[mechanism]
        cap = {} if kind is PNFPeel else {"votes_per_person": 6}
        built = kind(k=5, epsilon=2, groups_per_person=2, **cap)
        assert built == found.mechanism
        profiles, bits = [Profile.of(np.array(each)) for each in counts.values()], SeededBits(8)
        recalls = np.array(
            [
                [(picks.levels >= each[4]).mean() for picks, each in zip(drawn, counts.values(), strict=True)]
                for drawn in (built.draw_family(profiles, bits) for _ in range(300))
            ]
        )
        for mean, values in zip(
            (found.by_size[name].mean for name in ("large", "middle", "small")), recalls.T, strict=True
        ):
            # Seven standard deviations of the difference of the two means, and one more wrong list of 300.
            assert abs(values.mean() - mean) <= 7 * np.sqrt(values.var() / 300 * 2) + 1 / 300, mechanism


def test_a_wish_is_about_the_mean_over_all_lists():
    """The smallest epsilon with two digits for a mean recall, with the limits that it needs."""
    made = shortlist.plan(**INVENTED, k=5, epsilon=1, groups_per_person=2, want="recall 0.8", draws=60)
    answer = made.answers["pnf-peel"]
    assert answer.epsilon is not None
    assert answer.constraints.limits == "2 groups of each person"

    def look(epsilon):
        return made.planner.look("pnf-peel", 5, epsilon, answer.constraints).recall.mean

    digit = Fraction(1, 1000) if answer.epsilon <= Fraction(1, 10) else Fraction(1, 100 if answer.epsilon <= 1 else 10)
    assert look(answer.epsilon) >= 0.8 > look(answer.epsilon - digit)
    assert "on average over all lists, 80 % or more" in made.why
    assert made.wish_command is not None
    assert "--groups-per-person 2" in made.wish_command


def test_the_budget_counts_families():
    """A release is all lists; a ledger covers as many as the plan says."""
    made = shortlist.plan(**INVENTED, k=5, epsilon=1, groups_per_person=4, draws=60)
    joint = next(each for each in made.forecasts if each.name == "joint")
    assert (
        joint.affordable
        > next(
            each
            for each in shortlist.plan([90, 50, 20, 9, 5, 1], k=5, epsilon=1, draws=20).forecasts
            if each.name == "joint"
        ).affordable
    )


def test_families_without_a_domain_are_planned():
    """Small groups have short lists, and items without votes are not known."""
    made = shortlist.plan(**INVENTED, k=5, epsilon=2, delta="1e-6", without_domain=True, draws=60)
    assert {row["mechanism"] for row in made.table} == {"limited-domain", "threshold"}
    assert "--domain" not in made.command
    assert made.table[0]["items"] < 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"counts": {"a": [5, 3], "b": [2, 1]}}, "groups_per_person or votes_per_person must be given"),
        ({"counts": {"a": [5, 3], "b": [2]}, "k": 2, "groups_per_person": 1}, "number of items of each group; k is 2"),
        ({"counts": {"a": [1, 1], "b": [0, 1]}, "groups_per_person": 1}, "none is above 1"),
        ({"counts": [5, 3], "group_count": 2}, "group_count must go with like"),
        ({"counts": [5, 3], "votes_cast": 2}, "votes_cast must go with group_count"),
        ({"like": "zipf", "items": 9, "people": 9, "votes_cast": 2}, "for one list, votes_per_person says"),
        ({"like": "zipf", "items": 9, "people": 9, "groups_visited": 2}, "groups_visited must go with group_count"),
        ({"like": "zipf", "items": 9, "people": 9, "group_count": 0}, "group_count must be a whole number"),
        ({"like": "zipf", "items": 9, "people": 9, "group_count": 2, "votes_cast": 0}, "votes_cast must be above 0"),
        ({"counts": [5, 3], "groups_per_person": 2}, "groups_per_person must go with groups; one list has none"),
    ],
)
def test_what_does_not_fit_is_refused(options, said):
    """With a sentence that says what was expected."""
    with pytest.raises((ParameterError, DataError)) as caught:
        shortlist.plan(**{"k": 1, "epsilon": 1, **options})
    assert said in str(caught.value)


@pytest.mark.parametrize("items", ["text", "times"])
def test_files_of_counts_may_have_different_types(tmp_path, items):
    """A table of counts is read whole where one file has narrower numbers or coarser times than the other."""
    times = items == "times"
    for file, keys, narrow in (("a", [1, 2], True), ("b", [3, 4], False)):
        unit = pa.time32("s") if narrow else pa.time64("us")
        names = pa.array(keys, pa.int32() if narrow else pa.int64()).cast(unit) if times else pa.array(map(str, keys))
        numbers = pa.array(keys, pa.int32() if narrow else pa.int64())
        pq.write_table(pa.table({"item": names, "n": numbers}), tmp_path / f"{file}.parquet")
    found = read_count_files(str(tmp_path), item="item", count="n")
    assert sorted(found.shown[0].counts.tolist()) == [1, 2, 3, 4]


def test_a_plan_says_what_marks_random_lists():
    """Where lists are good there is no such note."""
    for size, wanted in ((4, True), (10**6, False)):
        counts = {name: [size // rank for rank in range(1, 50)] for name in ("a", "b")}
        notes = shortlist.plan(counts, k=3, epsilon=1, groups_per_person=1, draws=60).notes
        assert any("people_epsilon" in note for note in notes) == wanted
