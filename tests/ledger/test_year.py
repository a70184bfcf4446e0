"""A year of weekly releases, with retries, crashes and killed processes: the budget ends where the arithmetic says."""

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pyarrow as pa
import pytest
from pyarrow import parquet

from shortlist import select
from shortlist.errors import BudgetError
from shortlist.ledger.budget import add_up
from shortlist.ledger.charging import Ledger
from shortlist.ledger.statement import Statement

from .conftest import ServerPlace

pytestmark = pytest.mark.slow

WEEKS = [f"2025-W{week:02}" for week in range(1, 53)]
COUNTRIES = [f"C{number:02}" for number in range(27)]
TRACKS = {"item": "track", "domain": [f"t{number}" for number in range(6)], "epsilon": "1/4"}
LISTS = {
    "tracks": {**TRACKS, "k": 3},
    "artists": {"item": "artist", "k": 2, "epsilon": "1/4", "delta": "1e-9"},
    "charts": {**TRACKS, "k": 1, "mechanism": "joint", "by": "country", "groups": COUNTRIES, "groups_per_person": 1},
}
CRASHED = {"2025-W07": "tracks", "2025-W19": "artists", "2025-W40": "charts"}
"""Runs that fail after their charge."""
KILLED = {"2025-W11": "Drawing the items", "2025-W33": "Reading the domain"}
"""Runs of `tracks` in a process that is killed at a step: after its charge, and before it."""
SPENT = Counter([*CRASHED, "2025-W11"])
"""How many charges of a week have no release."""
EVENTFUL = sorted({*WEEKS[:6], *CRASHED, *KILLED})
"""The weeks of a ledger on a server: the first ones, and all in which a run fails."""

RUN = """
import json, sys, time
from shortlist import select
def wait(step):
    if step == sys.argv[2]:
        print(step, flush=True)
        time.sleep(600)
select(sys.argv[1], **json.loads(sys.argv[3]), progress=wait)
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Plays of one year, 54 in a week. One of each week is in its first second in Berlin."""
    rows = []
    for week in range(52):
        local = datetime(2024, 12, 30) + timedelta(weeks=week)
        start = local - timedelta(hours=2 if 13 <= week < 43 else 1)  # summer time begins in W13 and ends in W43
        for number in range(54):
            moment = (start + timedelta(hours=3 * number)).replace(tzinfo=UTC)
            rows.append((number, f"t{number * number % 6}", f"a{number % 4}", COUNTRIES[number % 27], moment))
    names = ("user", "track", "artist", "country", "played_at")
    path = tmp_path_factory.mktemp("log") / "plays.parquet"
    parquet.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path)
    return str(path)


class CrashError(Exception):
    """A failure after the charge."""


def crash(step):
    if step == "Drawing the items":
        raise CrashError


def kill(log, step, asked):
    """Run a selection in a process of its own, and kill it at a step."""
    command = [sys.executable, "-c", RUN, log, step, json.dumps(asked)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == f"{step}\n"
        process.kill()


def test_a_year_of_weekly_lists_ends_where_the_arithmetic_says(place, log):
    """Three lists a week, one of them in 27 countries: what failed after its charge is the only cost on top.

    In a file, the year has 52 weeks. On a server, it has eleven, with all failures.
    """
    weeks = EVENTFUL if isinstance(place, ServerPlace) else WEEKS
    charges = 3 * len(weeks) + SPENT.total()
    ledger = Ledger.create(
        place.address,
        per="week",
        epsilon=1,
        delta="2e-9",
        total_epsilon=Fraction(charges, 4),
        total_delta="1e-7",
        accounting="basic",
        time_zone="Europe/Berlin",
    )
    common = {"person": "user", "time": "played_at", "time_zone": "Europe/Berlin", "ledger": place.address}
    released, votes = {}, parquet.read_table(log)
    for week in weeks:
        for name, options in LISTS.items():
            asked = {**options, **common, "period": week, "once": f"{name} {week}"}
            if name == "tracks" and week in KILLED:
                kill(log, KILLED[week], asked)
            if CRASHED.get(week) == name:
                with pytest.raises(CrashError):
                    select(votes, **asked, progress=crash)
            released[name, week] = select(votes, **asked)
        if week in ("2025-W01", *CRASHED, *KILLED):  # a scheduler that repeats all runs of a week
            for name, options in LISTS.items():
                again = select(votes, **options, **common, period=week, once=f"{name} {week}")
                assert again.to_json() == released[name, week].to_json()
    statement = Statement.read(ledger)
    assert (len(statement.charges), len(statement.unfinished)) == (charges, SPENT.total())
    assert statement.periods == tuple(weeks)
    for week in weeks:
        assert statement.spent_in(week).epsilon == Fraction(3 + SPENT[week], 4), week
    promised = {name: released[name, "2025-W01"].guarantee for name in LISTS}
    times = {name: len(weeks) + [*CRASHED.values(), "tracks"].count(name) for name in LISTS}
    assert ledger.spent == add_up((promised[name], times[name]) for name in LISTS)
    assert ledger.left.epsilon == 0
    assert len(released["charts", "2025-W01"].lists) == 27
    paid = {charge.id: charge.period for charge in statement.charges if charge.release is not None}
    assert paid == {each.id: week for (_, week), each in released.items()}
    for week, budget in (("2026-W01", "total budget"), ("2025-W07", "budget of 2025-W07")):
        with pytest.raises(BudgetError, match=f"the {budget} is"):
            select(votes, **LISTS["tracks"], **common, period=week, once=f"one more {week}")
    assert len(ledger.charges) == charges
