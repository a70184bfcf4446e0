"""From votes, wherever they are, to a release that can be published."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, read_bits
from shortlist.ledger import Ledger, open_account
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism, build_mechanism, takes_cap
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import quote, read_positive
from shortlist.release.make import check_may_release, list_parameters, make_release
from shortlist.release.release import Release
from shortlist.votes import tally


def select(
    votes: Any = None,
    *,
    item: str,
    person: str | None = None,
    votes_per_person: int | None = None,
    domain: Any = None,
    k: int | None = None,
    epsilon: Any = None,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    neighbours: str | None = None,
    count: str | None = None,
    sensitivity: int = 1,
    unit: str = "person",
    domain_column: str | None = None,
    memory_limit: str | None = None,
    bits: Bits | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    note: str | None = None,
    progress: Callable[[str], None] = lambda step: None,
    **parameters: Any,
) -> Release:
    """Release the k items of a domain with the most votes, best first, under differential privacy.

    `shortlist.votes.tally` describes where the votes and the domain may come from: frames, files, or a
    `shortlist.Query` on a database. Of these parameters, `votes`, `person`, `item`, `count`, `votes_per_person`,
    `domain`, `domain_column` and `memory_limit` (of DuckDB) go there. `epsilon` is read as the exact rational that was
    written; `parameters` are those of the mechanism.

    A person counts once for an item. With `votes_per_person`, only so many items of each person count; which ones
    depends on nothing but that person's own votes.

    With `count`, the table is counted already, and the caller vouches that one person (or other `unit` of privacy)
    adds at most `sensitivity` to each count; the mechanism then runs with epsilon divided by it.

    With `ledger`, the release is charged to that budget, with a `note`, before any vote is read and any randomness is
    drawn. If the budget does not cover it, nothing is computed. The environment variable SHORTLIST_LEDGER makes a
    ledger mandatory.

    Without `bits`, the operating system's randomness is used. `progress` is called with each step when it starts.

    >>> import pyarrow
    >>> votes = pyarrow.table({"user": range(300), "track": ["a"] * 200 + ["b"] * 100})
    >>> release = select(votes, person="user", item="track", domain=["a", "b", "c"], k=2, epsilon=1)
    >>> release.items
    ('a', 'b')
    >>> print(release.guarantee)
    1-DP (rho 0.22272609965) for one person, add-remove
    """
    planned = plan_release(
        k=k,
        epsilon=epsilon,
        mechanism=mechanism,
        sensitivity=sensitivity,
        neighbours=neighbours,
        votes_per_person=votes_per_person,
        unit=unit,
        **parameters,
    )
    if sensitivity > 1 and count is None:
        raise ParameterError(
            "{sensitivity} must go with {count}: where persons are known, each counts once for an item",
            hint="leave {sensitivity} out",
        )
    built, guarantee = planned.mechanism, planned.guarantee
    # The cap that a mechanism relies on is the cap that is applied to the votes.
    cap = getattr(built, "votes_per_person", votes_per_person)
    drawn_from = read_bits(bits)
    check_may_release(built, drawn_from)
    public = list_parameters(built, sensitivity=sensitivity, votes_per_person=cap)
    account = open_account(ledger, built, guarantee, parameters=public, bits=drawn_from, note=note)
    counted = tally(
        votes,
        item=item,
        person=person,
        count=count,
        votes_per_person=cap,
        domain=domain,
        domain_column=domain_column,
        memory_limit=memory_limit,
        start=account.charge,
        progress=progress,
    )
    progress("Drawing the items")
    picks = built.prepare(counted).draw(drawn_from)
    progress("Naming the items")
    rows, noisy = picks.publish(counted.rows(picks))
    release = make_release(
        built,
        counted.names(rows),
        d=counted.d,
        bits=drawn_from,
        sensitivity=sensitivity,
        unit=unit,
        votes_per_person=cap,
        noisy=noisy,
        population=account.population,
        chosen=picks.chosen,
    )
    account.finish(release)
    return release


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRelease:
    """The mechanism that `select` would run, and what the release would promise."""

    mechanism: Mechanism
    guarantee: Guarantee


def plan_release(
    *,
    k: int | None,
    epsilon: Any,
    mechanism: str | Mechanism | None,
    sensitivity: int,
    neighbours: str | None,
    votes_per_person: int | None,
    unit: str,
    **parameters: Any,
) -> PlannedRelease:
    """Build what `select` runs for these parameters, without any votes."""
    _check_sensitivity(sensitivity)
    kind = DEFAULT_MECHANISM if mechanism is None else mechanism
    per_vote = None if epsilon is None else read_positive(epsilon, name="epsilon") / sensitivity
    if takes_cap(kind):
        parameters["votes_per_person"] = votes_per_person
    built = build_mechanism(kind, k=k, epsilon=per_vote, neighbours=neighbours, **parameters)
    return PlannedRelease(mechanism=built, guarantee=built.guarantee.scale(sensitivity, unit=unit))


def _check_sensitivity(sensitivity: object) -> None:
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
        raise ParameterError("{sensitivity} must be a whole number from 1", "not {value}", value=quote(sensitivity))
