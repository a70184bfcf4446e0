"""From votes, wherever they are, to a release that can be published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, source
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism, mechanism_named
from shortlist.privacy.numbers import read_positive
from shortlist.release import Release, check_may_release, make_release
from shortlist.votes import tally


def select(
    votes: Any = None,
    *,
    item: str,
    person: str | None = None,
    domain: Any = None,
    k: int | None = None,
    epsilon: Any = None,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    neighbours: str | None = None,
    count: str | None = None,
    sensitivity: int = 1,
    unit: str = "person",
    domain_column: str | None = None,
    database: Any = None,
    sql: str | None = None,
    domain_sql: str | None = None,
    memory_limit: str | None = None,
    bits: Bits | None = None,
    progress: Callable[[str], None] = lambda step: None,
    **parameters: Any,
) -> Release:
    """Release the k items of a domain with the most votes, best first, under differential privacy.

    Where the votes and the domain may come from is said at `shortlist.votes.tally`: `votes`, `person`, `item`,
    `count`, `domain`, `domain_column`, `database`, `sql`, `domain_sql` and `memory_limit` (of DuckDB) go there.
    `epsilon` is read as the exact rational that was written; `parameters` are those of the mechanism.

    With `count`, the table is counted already, and the caller vouches that one person (or other `unit` of privacy)
    adds at most `sensitivity` to each count; the mechanism then runs with epsilon divided by it.

    Without `bits`, the operating system's randomness is used. `progress` is told each step as it begins.

    >>> import pyarrow
    >>> votes = pyarrow.table({"user": range(300), "track": ["a"] * 200 + ["b"] * 100})
    >>> release = select(votes, person="user", item="track", domain=["a", "b", "c"], k=2, epsilon=1)
    >>> release.items
    ('a', 'b')
    >>> print(release.guarantee)
    1-DP (rho 0.22272609965) for one person, add-remove
    """
    times = _checked_sensitivity(sensitivity, count)
    per_vote = None if epsilon is None else read_positive(epsilon, name="epsilon") / times
    chosen = mechanism_named(mechanism, k=k, epsilon=per_vote, neighbours=neighbours, **parameters)
    chosen.guarantee.scale(times, unit=unit)  # refuse a wrong unit before data is read
    drawn_from = source(bits)
    check_may_release(chosen, drawn_from)
    counted = tally(
        votes,
        item=item,
        person=person,
        count=count,
        domain=domain,
        domain_column=domain_column,
        database=database,
        sql=sql,
        domain_sql=domain_sql,
        memory_limit=memory_limit,
        progress=progress,
    )
    progress("Drawing the items")
    picks = chosen.prepare(counted).draw(drawn_from)
    progress("Naming the items")
    return make_release(
        chosen,
        counted.items(picks),
        d=counted.d,
        bits=drawn_from,
        sensitivity=times,
        unit=unit,
        chosen=picks.chosen,
    )


def _checked_sensitivity(sensitivity: int, count: str | None) -> int:
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
        raise ParameterError(f"sensitivity must be a whole number from 1, not {sensitivity!r}.")
    if sensitivity > 1 and count is None:
        raise ParameterError(
            "sensitivity must go with count: where persons are known, each counts once for an item.",
            hint="leave sensitivity out",
        )
    return sensitivity
