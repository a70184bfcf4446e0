"""A ledger with periods: a budget for each, a total for the whole person, and requests that are of one period."""

import math
import shutil
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import product

import polars as pl
import pytest
from laws import neighbours

from shortlist import prepare, select
from shortlist.errors import BudgetError, ParameterError
from shortlist.ledger.budget import Amount
from shortlist.ledger.calendar import Calendar
from shortlist.ledger.charging import Ledger
from shortlist.ledger.statement import Statement
from shortlist.mechanisms import Joint, LimitedDomain
from shortlist.periods import Every, read_span

from .test_budget import SLACK, Draw, Response, hockey_stick

THIRD = Joint(k=1, epsilon="1/3")
MONDAY = datetime(2025, 11, 3, tzinfo=UTC)
VOTES = {
    "user": list(range(400)),
    "track": ["a"] * 300 + ["b"] * 100,
    "played_at": [MONDAY + timedelta(hours=number) for number in range(400)],
    "uploaded_at": [MONDAY] * 400,
}
ASKED = {"person": "user", "item": "track", "domain": ["a", "b", "c"], "k": 2, "epsilon": "1/2", "time": "played_at"}


@pytest.fixture
def ledger(place):
    return Ledger.create(place.address, per="week", epsilon=1, total_epsilon=2)


def test_a_period_and_the_total_are_both_enforced(ledger, place):
    """Each week has its own budget, all weeks together have the total, and a refusal names the one that is used up."""
    first = select(VOTES, **ASKED, period="2025-W45", ledger=ledger)
    assert ledger.charges[0].period == first.period == "2025-W45"
    assert ledger.charges[0].time == "played_at"
    select(VOTES, **ASKED, period="2025-W45", ledger=ledger)
    with pytest.raises(BudgetError, match=r"the budget of 2025-W45 is 1-DP for one person-week.*; epsilon 0 is left"):
        select(VOTES, **ASKED, period="2025-W45", ledger=ledger)
    select(VOTES, **ASKED, period="2025-W46", ledger=ledger)
    assert (ledger.spent_in("2025-W45").epsilon, ledger.left_in("2025-W46").epsilon) == (1, Fraction(1, 2))
    assert (ledger.spent.epsilon, ledger.left.epsilon) == (Fraction(3, 2), Fraction(1, 2))
    assert (ledger.afford(THIRD), ledger.afford(THIRD, "2025-W45")) == (1, 0)
    ledger.charge(Joint(k=1, epsilon="1/2"), period="2025-W47")
    with pytest.raises(BudgetError, match=r"the total budget is 2-DP for one person, .*; epsilon 0 is left"):
        select(VOTES, **ASKED, period="2025-W46", ledger=Ledger.open(place.address))
    stated = Statement.read(ledger).to_dict()
    assert {name: each["left"]["epsilon"] for name, each in stated["periods"].items()} == {
        "2025-W45": "0",
        "2025-W46": "0.5",
        "2025-W47": "0.5",
    }
    assert (stated["budget"]["per"], stated["budget"]["total_epsilon"], stated["left"]["epsilon"]) == ("week", "2", "0")


def test_a_ledger_without_a_total_has_a_budget_in_each_period(place):
    """It never ends, and the ledger says that there is no total to ask for."""
    ledger = Ledger.create(place.address, per="month", epsilon=1)
    for month in range(1, 13):
        ledger.charge(Joint(k=1, epsilon=1), period=f"2025-{month:02}")
    assert ledger.spent.epsilon == 12
    assert ledger.left_in("2025-07").epsilon == 0
    with pytest.raises(ParameterError, match="must have a total"):
        _ = ledger.left
    assert "in each month" in repr(ledger)


def test_rhos_are_added_up_in_each_period_and_in_total(place):
    """52 weekly lists without a catalogue, whose rho needs a delta: epsilons would sum to 26."""
    weekly = LimitedDomain(k=10, epsilon="1/2", delta="1e-9")
    budget = {"epsilon": 1, "delta": "1e-6", "total_epsilon": 10, "total_delta": "1e-5"}
    ledger = Ledger.create(place.address, per="week", accounting="zcdp", **budget)
    for week in range(1, 53):
        ledger.charge(weekly, period=f"2025-W{week:02}")
    one, total = weekly.guarantee, ledger.calendar.total
    assert (ledger.spent_in("2025-W31").rho, ledger.spent.rho) == (one.rho, 52 * one.rho)
    assert ledger.left.rho_delta == total.rho_delta - 52 * one.rho_delta
    assert ledger.left.rho == total.rho - 52 * one.rho > 0


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"time": None}, "must be of one week; without time, its votes could be of any"),
        ({"time": None, "period": "2025-W45"}, "must be of one week; without time, its votes could be of any"),
        ({"period": "2025-11"}, "must be one week, .* not 2025-11-01 to 2025-11-30"),
        ({"since": "2025-W45", "until": "2025-W46"}, "must be one week, .* not 2025-11-03 to 2025-11-16"),
        ({"since": "2025-11-04", "until": "2025-11-10"}, "a window that rolls over them"),
        ({"since": "2025-11-04", "until": "2025-11-06"}, "must be one week"),
        ({"since": "2025-11-03"}, "must be one week"),
        ({"since": "2025-W45", "until": "2025-W46", "every": "week", "per": "week"}, "release each week on its own"),
        ({"period": "2025-W45", "every": "day", "per": "day"}, "per must be 'week', as in the ledger, not 'day'"),
        ({"period": "2025-W45", "time_zone": "Europe/Berlin"}, "time_zone must be 'UTC', as in the ledger"),
        ({"period": "2999-W45"}, "must have ended; its last day is 2999-11-10, and in UTC it is "),
        ({"period": "2025-W45", "unit": "household"}, "unit must be 'person-week'"),
    ],
    ids=str,
)
def test_a_request_is_of_one_period_that_has_ended(tmp_path, asked, named):
    """Others are refused before anything is charged, and the error says what to do."""
    ledger = Ledger.create(tmp_path / "budget.db", per="week", epsilon=1)
    with pytest.raises(ParameterError, match=named):
        select(VOTES, **{**ASKED, **asked}, ledger=ledger)
    assert not ledger.charges


def test_shorter_periods_are_charged_to_the_one_that_has_them(tmp_path):
    """A day is charged to its week, and so is a family of its days. They add up."""
    ledger = Ledger.create(tmp_path / "budget.db", per="week", epsilon=2)
    select(VOTES, **ASKED, period="2025-11-05", ledger=ledger)
    select(VOTES, **ASKED, period="2025-W45", every="day", groups_per_person=7, ledger=ledger)
    select(VOTES, **ASKED, period="2025-W45", every="day", per="week", groups_per_person=7, ledger=ledger)
    assert [charge.period for charge in ledger.charges] == ["2025-W45"] * 3
    assert ledger.left_in("2025-W45").epsilon == Fraction(1, 2)


def test_the_zone_of_the_ledger_says_when_a_period_ends():
    """The week ends at midnight of its zone: 23:00 UTC in Berlin, ten hours later in Honolulu."""
    span = read_span(time="t", period="2026-W03", time_zone="Europe/Berlin")
    calendar = Calendar(every=Every.WEEK, time_zone="Europe/Berlin")
    midnight = datetime(2026, 1, 18, 23, tzinfo=UTC)
    assert str(calendar.find(span, midnight)) == "2026-W03"
    with pytest.raises(ParameterError, match=r"must have ended; its last day is 2026-01-18, .* it is 2026-01-18 23:59"):
        calendar.find(span, midnight - timedelta(seconds=1))
    later = Calendar(every=Every.WEEK, time_zone="Pacific/Honolulu")
    with pytest.raises(ParameterError, match="must have ended"):
        later.find("2026-W03", midnight)


def test_counts_are_charged_to_the_period_that_is_vouched_for(ledger):
    """Counts have no times, so the caller says of which week they are."""
    selector = prepare({"a": 30, "b": 5}, k=1, epsilon="1/2")
    with pytest.raises(ParameterError, match="Counts that you made yourself need the period alone"):
        selector.release(ledger=ledger)
    with pytest.raises(ParameterError, match="period must be a day"):
        selector.release(ledger=ledger, period="last week")
    release = selector.release(ledger=ledger, period="2025-W45")
    assert ledger.verify(release).period == "2025-W45"
    counted = {"item": "track", "count": "n", "domain": ["a", "b"], "k": 1, "epsilon": "1/2", "ledger": ledger}
    table = {"track": ["a", "b"], "n": [30, 5]}
    assert ledger.verify(select(table, **counted, period="2025-W46")).period == "2025-W46"
    with pytest.raises(ParameterError, match="Counts that you made yourself need the period alone"):
        select(table, **counted)
    without = {name: value for name, value in ASKED.items() if name != "time"}
    with pytest.raises(ParameterError, match="without time, its votes could be of any"):
        select(VOTES, **without, period="2025-W46", ledger=ledger)


def test_all_requests_name_one_column_of_times(ledger):
    """A vote with two times would be in two weeks."""
    select(VOTES, **ASKED, period="2025-W46", ledger=ledger)
    with pytest.raises(ParameterError, match=r"time must be 'played_at', as in earlier charges .* not 'uploaded_at'"):
        select(VOTES, **{**ASKED, "time": "uploaded_at"}, period="2025-W45", ledger=ledger)
    assert len(ledger.charges) == 1


def test_all_columns_of_times_are_of_one_kind(ledger, tmp_path):
    """Near midnight, a time without a zone and an instant may be in two weeks. The type says which one a column has."""
    votes = pl.DataFrame(VOTES).with_columns(pl.col("played_at").dt.replace_time_zone(None))
    select(votes, **ASKED, period="2025-W45", ledger=ledger)
    assert ledger.charges[0].time_kind == "timestamps"
    zoned = votes.with_columns(pl.col("played_at").dt.replace_time_zone("UTC"))
    votes.write_csv(tmp_path / "votes.csv")
    votes.write_parquet(tmp_path / "plain.parquet")
    votes.with_columns(pl.col("played_at").dt.date()).write_parquet(tmp_path / "days.parquet")
    for other, kind in (
        (zoned, "timestamps with time zone"),
        (tmp_path / "votes.csv", "text"),
        (tmp_path / "days.parquet", "dates"),
        ([tmp_path / "days.parquet", tmp_path / "plain.parquet"], "dates and timestamps"),
        (VOTES, "values of any type"),
        (pl.DataFrame(VOTES).to_pandas(), "values of any type"),
    ):
        with pytest.raises(ParameterError, match=f"must name a column of timestamps, .* not of {kind}; .*\nHint: cast"):
            select(other, **ASKED, period="2025-W46", ledger=ledger)
    # The file of a week without a time is not refused, whatever type its gaps have.
    for kind in (pl.Null, pl.Float64):
        votes.with_columns(pl.lit(None).cast(kind).alias("played_at")).write_parquet(tmp_path / "gaps.parquet")
        select(tmp_path / "gaps.parquet", **ASKED, period="2025-W44", ledger=ledger)
    # Nor is one in which a text that is no time made text of all others.
    texts = pl.col("played_at").cast(pl.String)
    votes.with_columns(texts).write_parquet(tmp_path / "texts.parquet")
    asked = {**ASKED, "epsilon": "0.1", "ledger": ledger}
    select(tmp_path / "texts.parquet", **asked, period="2025-W43")
    select([tmp_path / "texts.parquet", tmp_path / "plain.parquet"], **asked, period="2025-W42")
    select(votes, **asked, period="2025-W46")
    assert [charge.time_kind for charge in ledger.charges] == ["timestamps", *[None] * 3, *["timestamps"] * 2]


def test_values_without_a_type_are_a_kind_of_times_of_their_own(ledger):
    """One row could change the type of such a column, so that whatever its values are, it is one kind."""
    select(VOTES, **ASKED, period="2025-W45", ledger=ledger)
    texts = {**VOTES, "played_at": [str(each) for each in VOTES["played_at"]]}
    select(texts, **ASKED, period="2025-W46", ledger=ledger)
    assert [charge.time_kind for charge in ledger.charges] == ["values of any type"] * 2
    with pytest.raises(ParameterError, match=r"must name a column of values of any type, .* not of timestamps with"):
        select(pl.DataFrame(VOTES), **ASKED, period="2025-W46", ledger=ledger)


def test_a_key_is_released_once_in_its_period(ledger):
    """The same request is free, also after the budget is used up. Another period with the key is refused."""
    asked = {**ASKED, "epsilon": 1, "ledger": ledger}
    first = select(VOTES, **asked, period="2025-W45", once="top 2025-W45")
    assert select(VOTES, **asked, period="2025-W45", once="top 2025-W45").to_json() == first.to_json()
    with pytest.raises(ParameterError, match="for another period"):
        select(VOTES, **asked, period="2025-W46", once="top 2025-W45")
    with pytest.raises(BudgetError, match="2025-W45"):
        select(VOTES, **asked, period="2025-W45", once="another key")
    assert ledger.spent.epsilon == 1


def test_the_period_of_a_charge_stays(ledger, place):
    """The database refuses to move a charge to another period."""
    ledger.charge(THIRD, period="2025-W45")
    for column in ("period", "time_column", "time_kind"):
        with pytest.raises(place.errors, match="once"):
            place.execute(f"UPDATE charge SET {column} = '2025-W46'")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"per": "fortnight"}, "per must be"),
        ({"per": "week", "time_zone": "Mars/Olympus"}, "time_zone must be a name"),
        ({"per": "week", "time_zone": 1}, "time_zone must be the name"),
        ({"per": "week", "total_epsilon": 0}, "total_epsilon must be above 0"),
        ({"per": "week", "total_epsilon": "1/2"}, "total_epsilon must be at least epsilon"),
        ({"per": "week", "total_epsilon": 2, "total_delta": 1}, "total_delta must be at least 0 and below 1"),
        ({"per": "week", "total_delta": "1e-6"}, "total_delta must go with total_epsilon"),
        ({"total_epsilon": 3}, "total_epsilon must go with per"),
        ({"time_zone": "UTC"}, "time_zone must go with per"),
    ],
    ids=str,
)
def test_refuses_periods_that_mean_nothing(tmp_path, wrong, named):
    """Nothing is created."""
    with pytest.raises(ParameterError, match=named):
        Ledger.create(tmp_path / "budget.db", epsilon=1, **wrong)
    assert not list(tmp_path.iterdir())


def test_a_ledger_without_periods_takes_no_period(tmp_path):
    """What is left in a period is a question for a ledger that has periods."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(ParameterError, match="must go with a ledger that has periods"):
        ledger.left_in("2025-W45")
    assert select(VOTES, **ASKED, period="2025-W45", ledger=ledger).charge == 1
    assert ledger.charges[0].period is None


# Lemma 4 of budget.proof.md: trees of releases that a real ledger allows

WEEKS = ("2025-W45", "2025-W46")


def tree(ledger, strategy):
    """Every path of an analyst who takes the first release that is covered: its releases, their weeks and answers."""
    ledgers = {(): ledger}

    def choose(charged, seen):
        for release, week in strategy(seen):
            after = (*charged, (release.guarantee, week))
            if after not in ledgers:
                path = ledger.path.with_name(f"{len(ledgers)}.db")
                shutil.copy(ledgers[charged].path, path)
                ledgers[after] = Ledger.open(path)
                try:
                    ledgers[after].charge(THIRD, release.guarantee, period=week)
                except BudgetError:
                    ledgers[after] = None
            if ledgers[after] is not None:
                return release, week, after
        return None

    def walk(charged, seen):
        chosen = choose(charged, seen)
        if chosen is None:
            yield ()
            return
        release, week, after = chosen
        for answer in range(release.answers):
            for path in walk(after, (*seen, answer)):
                yield ((release, week, answer), *path)

    return list(walk((), ()))


def find_chances(paths, worlds):
    """The probabilities of all paths in two worlds. A world has a histogram for each week."""
    for path in paths:
        yield tuple(
            math.prod(release.laws((worlds[0][week], worlds[1][week]))[side][answer] for release, week, answer in path)
            for side in (0, 1)
        )


class Pair(Draw):
    """One of two items by Joint."""

    answers = 2


class Told(Response):
    """Randomised response on whether the votes of a week are those of the first world or of the second."""

    answers = 4

    def laws(self, worlds):
        laws = super().laws(())
        return laws if worlds[0] != worlds[1] else (laws[0], laws[0])


def jump(sizes, make):
    """An analyst who asks for large releases, and goes to the other week after an odd answer."""
    releases = [make(size) for size in sizes]

    def strategy(seen):
        weeks = WEEKS if sum(seen) % 2 == 0 else WEEKS[::-1]
        return [(release, week) for week in weeks for release in releases]

    return strategy


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_analyst_tells_a_person_in_a_period_apart(tmp_path, relation):
    """All neighbours that differ in one week satisfy its epsilon, and those that differ in both weeks the total."""
    ledger = Ledger.create(tmp_path / "0.db", per="week", epsilon=1, total_epsilon="3/2", neighbours=relation)
    paths = tree(ledger, jump(("2/3", "1/3"), lambda size: Pair(size, relation)))
    assert {week for path in paths for _, week, _ in path} == set(WEEKS)
    for mine, theirs in product([(0, 0), (1, 0), (2, 1)], repeat=2):
        first = dict(zip(WEEKS, (mine, theirs), strict=True))
        one, other = neighbours(mine, relation), neighbours(theirs, relation)
        for changed in one:
            assert hockey_stick(find_chances(paths, (first, {**first, WEEKS[0]: changed})), 1) <= SLACK
            for also in other:
                both = dict(zip(WEEKS, (changed, also), strict=True))
                assert hockey_stick(find_chances(paths, (first, both)), 1.5) <= SLACK
        for changed in other:
            assert hockey_stick(find_chances(paths, (first, {**first, WEEKS[1]: changed})), 1) <= SLACK


WORLDS = [dict.fromkeys(WEEKS, side) for side in "PQ"]


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (Fraction(13, 10), False)])
@pytest.mark.parametrize("delta", [0, Fraction(1, 10)])
def test_the_worst_releases_use_a_period_and_the_total_up(tmp_path, factor, holds, delta):
    """Both budgets are sound for randomised response with leaks, and neither would be with 30 % more."""
    budget = {"epsilon": factor, "delta": delta * factor, "accounting": "basic"}
    total = {"total_epsilon": factor * Fraction(3, 2), "total_delta": delta * factor * Fraction(3, 2)}
    ledger = Ledger.create(tmp_path / "0.db", per="week", **budget, **total)
    paths = tree(ledger, jump(("1/2", "3/10"), lambda size: Told(size, Fraction(size) * delta)))
    within = (WORLDS[0], {**WORLDS[0], WEEKS[0]: "Q"})
    assert (hockey_stick(find_chances(paths, within), 1) <= delta + SLACK) == holds
    assert (hockey_stick(find_chances(paths, WORLDS), 1.5) <= 1.5 * delta + SLACK) == holds


def test_a_vote_with_two_times_would_exceed_its_period():
    """If one list took a vote to be in one week, and another list in the next one, both weeks would pay for it."""
    release = Told(1)
    paths = [((release, WEEKS[0], one), (release, WEEKS[1], two)) for one in range(4) for two in range(4)]
    assert hockey_stick(find_chances(paths, WORLDS), 1) > 0.3


def test_charges_that_race_for_one_period_do_not_exceed_it(place):
    """The sums are read and the charge is written in one transaction."""
    import threading

    Ledger.create(place.address, per="week", epsilon=2, total_epsilon=3)
    made = []

    def run(week):
        for _ in range(8):
            try:
                made.append(Ledger.open(place.address).charge(THIRD, period=week).period)
            except BudgetError:
                continue

    threads = [threading.Thread(target=run, args=(week,)) for week in WEEKS * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = Ledger.open(place.address)
    assert (len(made), ledger.left.epsilon) == (9, 0)
    assert max(ledger.spent_in(week).epsilon for week in WEEKS) <= 2
    assert Amount() not in [ledger.spent_in(week) for week in WEEKS]
