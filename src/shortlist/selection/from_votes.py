"""Make a release from votes in any engine, file or database."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import Any, Unpack, overload

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, read_bits
from shortlist.ledger import Ledger, open_account
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.near_names import show_options
from shortlist.privacy.numbers import Real, read_whole
from shortlist.release import Release, make_release, warn
from shortlist.terms import ReleaseOptions, Sizes, Terms
from shortlist.votes import plan_tally

Progress = Callable[[str], None]


class SelectOptions(ReleaseOptions, total=False):
    """What `select` may be asked for."""

    domain: Any
    domain_column: str | None
    label: str | Sequence[str] | None
    ledger: Ledger | str | os.PathLike[str] | None
    note: str | None
    period: str | None
    memory_limit: str | None
    bits: Bits | None
    progress: Progress | None


@overload
def select(
    votes: Any,
    *,
    item: str,
    person: str,
    k: Sizes,
    epsilon: Real,
    mechanism: str = ...,
    **options: Unpack[SelectOptions],
) -> Release: ...
@overload
def select(
    votes: Any,
    *,
    item: str,
    count: str,
    k: Sizes,
    epsilon: Real,
    mechanism: str = ...,
    **options: Unpack[SelectOptions],
) -> Release: ...
@overload
def select(
    votes: Any, *, item: str, person: str, mechanism: Mechanism, **options: Unpack[SelectOptions]
) -> Release: ...
@overload
def select(votes: Any, *, item: str, count: str, mechanism: Mechanism, **options: Unpack[SelectOptions]) -> Release: ...
def select(
    votes: Any = None,
    *wrong: Any,
    item: str | None = None,
    person: str | None = None,
    count: str | None = None,
    domain: Any = None,
    domain_column: str | None = None,
    label: str | Sequence[str] | None = None,
    k: Sizes | None = None,
    epsilon: Real | None = None,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    sensitivity: int = 1,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    note: str | None = None,
    period: str | None = None,
    memory_limit: str | None = None,
    bits: Bits | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Release the k items of a domain with the most votes, best first, under differential privacy.

    What: `votes` is a frame, files, or a `shortlist.Query` on a database; docs/tables.md lists them. Its columns `item`
    and `person` are read, and a person counts once for an item. `domain` is the public list of all items that may be
    released, with its column `domain_column`; the columns `label` of it travel with the list. Without `domain`, items
    are what the votes say, and `delta` is needed: up to k items are released. With `count` in place of `person`, the
    table is counted already, and you guarantee that one person adds at most `sensitivity` to each count.

    Privacy: `epsilon` is read as the exact rational that was written. `delta` allows a failure probability.
    `ordered=False` leaves out the order. With `votes_per_person`, at most that many items of each person count; which
    ones depends only on that person's own votes. `neighbours` is "add-remove" or "replace", and `unit` is the word for
    one person in the guarantee.

    Accuracy: `mechanism` is a name, with `beta`, `k_bar` or `noise` for the mechanisms that have them, or a mechanism
    object, which carries all parameters of its own. `assess` is an epsilon on top, for a bound on the error that uses
    these data. `counts_epsilon`, or `counts_rho` with `counts_delta`, is spent on noisy counts of the items. The
    guarantee of the release is the sum. `people` is the number of people, where that is public: a bound above it is a
    warning.

    Budget: with `ledger`, the release is charged to that budget before any vote is read and any randomness is drawn. If
    the budget does not cover it, nothing is computed. The environment variable SHORTLIST_LEDGER makes a ledger
    mandatory. `note` and `period` say what the release is for and which time the votes are of. The record holds both,
    and the ledger the note.

    `memory_limit` is that of DuckDB. Without `bits`, the operating system's randomness is used. `progress` is called
    with each step when it starts.

    >>> import pyarrow
    >>> votes = pyarrow.table({"user": range(300), "track": ["a"] * 200 + ["b"] * 100})
    >>> release = select(votes, person="user", item="track", domain=["a", "b", "c"], k=2, epsilon=1)
    >>> release.items
    ('a', 'b')
    >>> print(release.guarantee)
    1-DP (rho 0.22272609965) for one person, add-remove
    """
    _check_call(wrong, item)
    report: Progress = progress or _ignore
    times = _read_sensitivity(sensitivity, count)
    how = {"sensitivity": times, "persons_counted": count is None, "without_domain": domain is None}
    terms = Terms.read(mechanism, k, epsilon, **how, **options)
    if domain is None and (domain_column is not None or label is not None):
        raise ParameterError(f"`{('label' if domain_column is None else 'domain_column')}` must go with `domain`")
    built, drawn_from = terms.mechanism, read_bits(bits)
    account = open_account(ledger, terms, bits=drawn_from, note=note, period=period)
    plan = plan_tally(
        votes,
        item=str(item),
        person=person,
        count=count,
        votes_per_person=terms.votes_per_person,
        domain=domain,
        domain_column=domain_column,
        observed=domain is None,
        memory_limit=memory_limit,
        progress=report,
    )
    find_labels = _prepare_labels(label, domain, item=item, person=person, count=count, column=domain_column)
    # All that names and types tell is checked. From here on votes are read, and a failure is paid for.
    account.charge(plan.d)
    counted = plan.count()
    report("Drawing the items")
    picks, spread = terms.draw_extras(built.prepare(counted).draw(drawn_from), counted, drawn_from)
    report("Naming the items")
    rows, noisy = picks.publish(counted.rows(picks))
    items = counted.names(rows)
    release = make_release(
        terms,
        items,
        d=None if domain is None else counted.d,
        bits=drawn_from,
        noisy=noisy,
        chosen=picks.chosen,
        spread=spread,
        labels=find_labels(items),
        **account.describe(),
    )
    account.finish(release)
    warn(release, terms.people, stacklevel=2)
    return release


show_options(select, SelectOptions, votes=Parameter.empty, item=Parameter.empty, unit="person")


def _check_call(wrong: tuple[Any, ...], item: object) -> None:
    """Answer a call that gives columns by their place, or no item, with the right call."""
    if not wrong and item is not None:
        return
    texts = [each for each in wrong if isinstance(each, str)]
    person, named = (*texts, "user_id", "track")[:2] if len(texts) != 1 else ("user_id", texts[0])
    call = f"select(votes, person={person!r}, item={named!r}, domain='catalogue.csv', k=10, epsilon=1)"
    raise ParameterError(
        "select takes one table, and all else by name" if wrong else "`item` must be given",
        "further ones were given by their place" if wrong else None,
        hint=f"write {call}",
    )


def _prepare_labels(
    label: Any, domain: Any, *, item: Any, person: str | None, count: str | None, column: str | None
) -> Callable[[Sequence[Any]], dict[str, tuple[Any, ...]]]:
    """Read the labels of a domain, and return what finds those of some items."""
    if label is None:
        return lambda items: {}
    from shortlist.selection.labels import find_labels, read_label_names, read_labels

    names = read_label_names(label)
    labels = read_labels(domain, names, item=item, person=person, count=count, column=column)
    return lambda items: find_labels(labels, names, items)


def _read_sensitivity(sensitivity: int, count: str | None) -> int:
    times = read_whole(sensitivity, name="sensitivity")
    if times > 1 and count is None:
        raise ParameterError(
            "`sensitivity` must go with `count`: with `person`, each person counts once for an item",
            hint="leave `sensitivity` out",
        )
    return times


def _ignore(step: str) -> None:
    """Report nothing."""
