"""The path of tables: on every engine that is installed, one hostile person changes each count by 1 at most.

Tables are counted for a domain, and without one. Without a domain, the person may also bring new items.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.audits.engines import ENGINES, Engine, find_missing
from shortlist.audits.hostile_votes import Neighbours, invent_neighbours
from shortlist.audits.report import Finding, Result
from shortlist.errors import DataError
from shortlist.exact.bits import SeededBits, SystemBits
from shortlist.profile import EVERY_LEVEL, Picks
from shortlist.votes import observe, tally
from shortlist.votes.values import write_item

Counts = dict[bytes | None, int] | str
"""The count of each item, or the text of the error."""

WITH_DOMAIN, WITHOUT_DOMAIN = "tables", "tables without a domain"
_PAIRS = 30
"""How many pairs of tables each check counts."""
_MOST_IDLE = 10
"""After this many pairs in which no count moved, a check ends."""
_COLUMNS = {"person": "user", "item": "track"}


def check_tables(progress: Callable[[str], None] = lambda step: None, *, seed: int | None = None) -> Iterator[Finding]:
    """Count random tables with and without one hostile person, on every engine that is installed."""
    used = int.from_bytes(SystemBits().draw(8)) if seed is None else seed
    for engine in ENGINES:
        subject, missing = f"votes in {engine.name}", find_missing(engine)
        if missing is not None:
            yield Finding(
                subject=subject, check=WITH_DOMAIN, result=Result.NOT_RUN, found=f"{missing} is not installed"
            )
            continue
        progress(f"{subject}: counting with and without one hostile person")
        for check in (WITH_DOMAIN, WITHOUT_DOMAIN):
            try:
                yield _check_engine(engine, subject, check, used)
            except Exception as error:  # of an engine: its text may quote the tables
                found = f"the engine failed ({type(error).__name__}; seed {used})"
                yield Finding(subject=subject, check=check, result=Result.FAIL, found=found)
    found = "it needs a server: the tests of the library start one"
    yield Finding(subject="votes in PostgreSQL", check=WITH_DOMAIN, result=Result.NOT_RUN, found=found)


def _check_engine(engine: Engine, subject: str, check: str, seed: int) -> Finding:
    bits, least = SeededBits(seed), 1 if engine.slow else _PAIRS
    listed = check == WITH_DOMAIN
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="shortlist-audit-") as folder:
        # Tables that are refused, or in which no count moves, show little. So at least one pair moves a count. One pair
        # that is wrong decides.
        while not seen["wrong"] and (seen["pairs"] < least or (not seen["moved"] and seen["pairs"] < _MOST_IDLE)):
            pair = invent_neighbours(bits)
            place = Path(folder) / str(seen["pairs"])
            place.mkdir()
            before, after = (
                count(pair, engine.hold(pair.table(last=last), place), listed=listed) for last in (False, True)
            )
            refused = isinstance(after, str)
            wrong = not may_differ(before, after, pair.cap, listed=listed)
            seen.update(pairs=1, refused=int(refused), moved=int(not refused and before != after), wrong=int(wrong))
    pairs, passed = seen["pairs"], False if seen["wrong"] else True if seen["moved"] else None
    said = {
        True: f"no count moved by more than 1, and in {seen['moved']} pairs one moved",
        False: "in the last pair one person changed too much",
        None: "no count moved in any pair, so nothing is shown",
    }[passed]
    return Finding(
        subject=subject,
        check=check,
        result=Result.read(passed),
        found=f"{said} ({pairs} {'pair' if pairs == 1 else 'pairs'} of tables; {seen['refused']} refused alike)",
        details={name: seen[name] for name in ("pairs", "refused", "moved", "wrong")} | {"seed": str(seed)},
    )


def count(pair: Neighbours, votes: Any, *, listed: bool = True) -> Counts:
    """Count votes by the public functions, for the domain or without one, item by item; or give the error."""
    try:
        if listed:
            counted = tally(votes, **_COLUMNS, domain=pair.items, votes_per_person=pair.cap)
        else:
            counted = observe(votes, **_COLUMNS, votes_per_person=pair.cap)
    except DataError as error:
        return str(error)
    if not counted.d:
        return {}
    profile = counted.above(counted.d if listed else 1, EVERY_LEVEL)
    levels = np.repeat(profile.values, profile.sizes)
    ranks = np.concatenate([np.arange(size) for size in profile.sizes])
    names = counted.names(counted.rows(Picks(levels=levels, ranks=ranks)))
    found = dict(zip(map(write_item, names), levels.tolist(), strict=True))
    if len(found) < len(names):
        raise AssertionError("an item is in two groups")
    return found


def may_differ(before: Counts, after: Counts, cap: int | None, *, listed: bool = True) -> bool:
    """Whether one person more can have made this difference. Items stay the same if a domain lists them.

    >>> may_differ({b"a": 1, b"b": 0}, {b"a": 2, b"b": 1}, None), may_differ({b"a": 1}, {b"a": 3}, None)
    (True, False)
    >>> may_differ({b"a": 1}, {b"a": 1, b"b": 1}, None, listed=False)
    True
    """
    if isinstance(before, str) or isinstance(after, str):
        return before == after  # an error must not depend on one person
    fits = before.keys() == after.keys() if listed else before.keys() <= after.keys()
    growth = [votes - before.get(item, 0) for item, votes in after.items()]
    return fits and set(growth) <= {0, 1} and (cap is None or sum(growth) <= cap)
