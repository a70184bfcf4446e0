"""A record that was edited in one place is refused, unless the edit makes the record of another release.

Every field of some records is removed, and replaced by values of other types and ranges.
"""

import copy
import json
from datetime import date, timedelta
from fnmatch import fnmatch

import pyarrow as pa
import pytest

from shortlist import prepare, select
from shortlist.errors import DataError
from shortlist.release import Publication

COUNTS = {"apple": 3100, "pear": 1900, "plum": 12, "fig": 5, "kiwi": 4}
VOTES = pa.table(
    {
        "user": [place // 3 for place in range(900)],
        "track": [("a", "b", "c")[place * place % 3] for place in range(900)],
        "city": [("Oslo", "Rome")[place % 2] for place in range(900)],
        "minutes": [place % 50 for place in range(900)],
        "day": [date(2026, 8, 31) + timedelta(place % 14) for place in range(900)],
    }
)
DOMAIN = pa.table({"track": ["a", "b", "c", "d"], "title": ["A", "B", None, "D"]})
DAYS = {"time": "day", "every": "week", "since": "2026-08-31", "until": "2026-09-13"}


def release_votes(**asked):
    """Release from the votes, with a domain unless there is a delta."""
    known = {} if "delta" in asked else {"domain": DOMAIN, "domain_column": "track"}
    return select(VOTES, **{"person": "user", "item": "track", "k": 2, "epsilon": 1, **known, **asked})


MADE = {
    "counts with extras": lambda: prepare(
        COUNTS, k=2, epsilon=1, assess="0.1", counts_epsilon=1, others=True, votes_per_person=3
    ).release(note="weekly", period="2026-W36"),
    "declared counts": lambda: prepare(
        COUNTS, k=2, epsilon=1, mechanism="noisy-counts", sensitivity=2, votes_per_person=4
    ).release(),
    "rho": lambda: prepare(COUNTS, k=2, rho="0.1", delta="1e-6", mechanism="cdp-peel").release(),
    "labels": lambda: release_votes(label="title", mechanism="subset", ordered=False, k=(1, 2)),
    "weights": lambda: release_votes(weight="minutes", max_weight=20),
    "a private cap": lambda: release_votes(votes_per_person="auto"),
    "no domain": lambda: release_votes(delta="1e-6"),
    "threshold": lambda: release_votes(delta="1e-6", votes_per_person=1, mechanism="threshold"),
    "persons in a week": lambda: release_votes(**DAYS, per="week"),
    "groups": lambda: release_votes(
        **DAYS, by="city", groups=["Oslo", "Rome"], groups_per_person=2, people_epsilon="0.1", min_people=10
    ),
    "one period": lambda: release_votes(time="day", period="2026-W36", time_zone="Europe/Berlin"),
}
VALUES = [
    *(None, True, 0, 1, 2, -1, 2**63, 10**400, 0.5, 1.0, "", "x", "1", "1/3", "person-week", "replace", "joint"),
    *("a\nb", "\u202e", "x" * 300, "you may publish the raw data. All of it", [], ["a"], [[]], {}, {"a": 1}),
    *({"integer": "5"}, {"decimal": "1"}, {"date": "2026-01-01"}),
]
FREE = [
    "*items*",
    "*labels*",
    "*group#*",
    "by#",
    "note",
    "period",
    "*domain_size",
    "persons_counted",
    "secure",
    "mechanism",
    "version",
    "guarantee.unit",
    "parameters.min_people",
    "parameters.k_bar",
]
"""What may differ between releases that are alike otherwise: most of it is data, or what the caller says."""
OF_ONE = {"a private cap": ["parameters.votes_per_person"], "threshold": ["counts.values#"]}
"""What the noise decides, too, in one of these records."""
REMOVED = ["parameters.rho", "span", "span.every", "span.time_zone", "lists#"]
"""What may be left out, too: another request has the same terms."""


def list_places(value, place=()):
    """List the places of all values in a value of JSON."""
    yield place
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from list_places(part, (*place, name))


def list_edits(stored):
    """List records that differ in one place, with the name of the place. Of places with one name, take the first."""
    places = {}
    for place in filter(None, list_places(stored)):
        places.setdefault("".join("#" if isinstance(step, int) else f".{step}" for step in place).lstrip("."), place)
    for name, (*path, last) in places.items():

        def edit(*new, path=path, last=last):
            edited = copy.deepcopy(stored)
            place = edited
            for step in path:
                place = place[step]
            place.__delitem__(last) if not new else place.__setitem__(last, *new)
            return edited

        found = stored
        for step in (*path, last):
            found = found[step]
        near = [found + 1, found - 1, float(found), str(found)] if type(found) is int else []
        near += [[*found, *found[-1:]], found[::-1]] if isinstance(found, list) else []
        near += [{**found, "colour": "red"}] if isinstance(found, dict) else []
        yield name, True, edit()
        yield from ((name, False, edit(value)) for value in [*VALUES, *near] if json.dumps(value) != json.dumps(found))


def test_a_contradiction_is_named():
    """What a record says about its charge, its persons and its days goes together."""
    charged = {"charge": {"ledger": "0" * 32, "number": 1}}
    for name, change, words in (
        ("declared counts", {**charged, "secure": False}, "a release that can be repeated was charged"),
        ("declared counts", {"population": "EU"}, "it has the population of a ledger, and no charge"),
        ("declared counts", {"persons_counted": True}, "persons are counted, and one adds more than 1"),
        ("persons in a week", {"span": None}, "the unit is not that of the days"),
    ):
        edited = {**MADE[name]().to_dict(), **change}
        edited = {field: value for field, value in edited.items() if value is not None}
        with pytest.raises(DataError, match=f"must not contradict itself; in the text, {words}"):
            Publication.from_json(json.dumps(edited))


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_an_edited_record_is_refused(name):
    """What is accepted is the record of another release. It can be shown, and read again."""
    stored = MADE[name]().to_dict()
    accepted = set()
    free = [*FREE, *OF_ONE.get(name, [])]
    for place, removed, edited in list_edits(stored):
        try:
            read = Publication.from_json(json.dumps(edited))
        except DataError:
            continue
        assert type(read).from_json(read.to_json()) == read, place
        assert str(read), place
        assert read.explain(), place
        assert read.caption(), place
        if edited != stored:
            accepted.add((place, removed))
    unexpected = [
        (place, removed)
        for place, removed in accepted
        if not any(fnmatch(place, pattern) for pattern in [*free, *(REMOVED if removed else [])])
    ]
    assert unexpected == []
