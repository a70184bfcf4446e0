"""Make a release from votes in any engine, file or database."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, read_bits
from shortlist.ledger import Ledger, open_account
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.privacy.numbers import read_whole
from shortlist.release import Release, make_release, warn
from shortlist.terms import Terms
from shortlist.votes import plan_tally


def select(
    votes: Any = None,
    *,
    item: str,
    person: str | None = None,
    votes_per_person: int | None = None,
    domain: Any = None,
    k: int | tuple[int, int] | None = None,
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
    period: str | None = None,
    assess: Any = None,
    counts_epsilon: Any = None,
    counts_rho: Any = None,
    counts_delta: Any = None,
    people: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
    **parameters: Any,
) -> Release:
    """Release the k items of a domain with the most votes, best first, under differential privacy.

    `shortlist.votes.plan_tally` describes where the votes and the domain may come from: frames, files, or a
    `shortlist.Query` on a database. Of these parameters, `votes`, `person`, `item`, `count`, `votes_per_person`,
    `domain`, `domain_column` and `memory_limit` (of DuckDB) go there. `epsilon` is read as the exact rational that was
    written. `parameters` are those of the mechanism.

    A person counts once for an item. With `votes_per_person`, at most that many items of each person count. Which
    ones depends only on that person's own votes.

    With `count`, the table is counted already. The caller guarantees that one person (or another `unit` of privacy)
    adds at most `sensitivity` to each count. The mechanism then runs with epsilon divided by it.

    Without `domain`, items are what the votes say, and `delta` is needed: it hides items of single persons. Then up
    to k items are released, by `limited-domain` or `threshold`, and nothing but these tells which items exist.

    With `ledger`, the release is charged to that budget before any vote is read and any randomness is drawn. If the
    budget does not cover it, nothing is computed. The environment variable SHORTLIST_LEDGER makes a ledger mandatory.
    `note` and `period` say what the release is for and which time the votes are of. The record holds both, and the
    ledger the note.

    `assess` is an epsilon on top, for a bound on the error of the list that uses these data.
    `counts_epsilon`, or `counts_rho` with `counts_delta`, is spent on noisy counts of the items. The guarantee of the
    release is the sum. `people` is the number of people, where that is public: a bound above it is a warning.

    Without `bits`, the operating system's randomness is used. `progress` is called with each step when it starts.

    >>> import pyarrow
    >>> votes = pyarrow.table({"user": range(300), "track": ["a"] * 200 + ["b"] * 100})
    >>> release = select(votes, person="user", item="track", domain=["a", "b", "c"], k=2, epsilon=1)
    >>> release.items
    ('a', 'b')
    >>> print(release.guarantee)
    1-DP (rho 0.22272609965) for one person, add-remove
    """
    times = _read_sensitivity(sensitivity, count)
    if domain is None:
        _check_no_domain(domain_column)
    terms = Terms.read(
        mechanism,
        k,
        epsilon,
        neighbours,
        sensitivity=times,
        votes_per_person=votes_per_person,
        people=people,
        unit=unit,
        persons_counted=count is None,
        without_domain=domain is None,
        assess=assess,
        counts_epsilon=counts_epsilon,
        counts_rho=counts_rho,
        counts_delta=counts_delta,
        **parameters,
    )
    built, cap, drawn_from = terms.mechanism, terms.votes_per_person, read_bits(bits)
    account = open_account(ledger, terms, bits=drawn_from, note=note, period=period)
    columns: dict[str, Any] = {"item": item, "person": person, "count": count, "votes_per_person": cap}
    plan = plan_tally(
        votes,
        **columns,
        domain=domain,
        domain_column=domain_column,
        observed=domain is None,
        memory_limit=memory_limit,
        progress=progress,
    )
    # All that names and types tell is checked. From here on votes are read, and a failure is paid for.
    account.charge(plan.d)
    counted = plan.count()
    progress("Drawing the items")
    picks, spread = terms.draw_extras(built.prepare(counted).draw(drawn_from), counted, drawn_from)
    progress("Naming the items")
    rows, noisy = picks.publish(counted.rows(picks))
    release = make_release(
        terms,
        counted.names(rows),
        d=None if domain is None else counted.d,
        bits=drawn_from,
        noisy=noisy,
        chosen=picks.chosen,
        spread=spread,
        **account.describe(),
    )
    account.finish(release)
    warn(release, terms.people, stacklevel=2)
    return release


def _check_no_domain(column: str | None) -> None:
    if column is not None:
        raise ParameterError("{domain_column} must go with {domain}")


def _read_sensitivity(sensitivity: int, count: str | None) -> int:
    times = read_whole(sensitivity, name="sensitivity")
    if times > 1 and count is None:
        raise ParameterError(
            "{sensitivity} must go with {count}: with {person}, each person counts once for an item",
            hint="leave {sensitivity} out",
        )
    return times
