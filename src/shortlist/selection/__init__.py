"""The ways in: `select` makes a release from votes, and `top_k` and `prepare` choose items by counts in memory.

Each reads its terms first. A release is charged before votes are read and before anything is drawn.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, Unpack, cast, overload

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError, refuse_given
from shortlist.exact.bits import Bits, is_secure, read_bits
from shortlist.ledger import refuse_uncharged
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.near_names import show_options
from shortlist.periods import Period, Span, name_unit, read_span
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, read_whole
from shortlist.profile import Picks
from shortlist.terms import ListOptions, ReleaseOptions, Sizes, Terms
from shortlist.votes.array_counts import ArrayTally, read_counts

if TYPE_CHECKING:  # a list alone needs no ledger and no release, so these modules are imported where they are used
    from shortlist.ledger.charging import Account, Ledger
    from shortlist.release import Release, ReleaseFamily
    from shortlist.votes.tallies import TallyPlan

Columns = str | Sequence[str]
Key = TypeVar("Key")
Label = TypeVar("Label", covariant=True)
Items = TypeVar("Items", covariant=True)
_OF_RELEASES = ReleaseOptions.__annotations__.keys() - ListOptions.__annotations__.keys()


class VoteOptions(ReleaseOptions, total=False):
    """What `select` may be asked for."""

    epsilon: Real | None
    domain: Any
    domain_column: str | None
    label: Columns | None
    time: str | None
    since: str | date | None
    until: str | date | None
    period: str | date | None
    time_zone: str | None
    weight: str | None
    max_weight: int | None
    weight_unit: str | None
    ledger: Ledger | str | os.PathLike[str] | None
    once: str | None
    note: str | None
    bits: Bits | None
    memory_limit: str | None
    progress: Callable[[str], None] | None


class FamilyOptions(VoteOptions, total=False):
    """What `select` may be asked for where it makes one list for each group or period."""

    person: str | None
    count: str | None
    groups: Any
    groups_per_person: int | None
    people_epsilon: Real | None
    min_people: int | None
    per: str | None


class GroupOptions(FamilyOptions, total=False):
    """What `select` may be asked for where `by` names the columns of groups: there may be periods, too."""

    every: str | None


class DrawOptions(ListOptions, total=False):
    """What `top_k` may be asked for."""

    bits: Bits | None


class Labelled(Protocol[Label]):
    """Counts with labels: a mapping, or a Series of pandas."""

    def keys(self) -> Iterable[Label]:
        """The labels."""


@overload
def select(
    votes: Any, *, item: str, person: str, k: Sizes, mechanism: str = ..., **options: Unpack[VoteOptions]
) -> Release: ...
@overload
def select(
    votes: Any, *, item: str, count: str, k: Sizes, mechanism: str = ..., **options: Unpack[VoteOptions]
) -> Release: ...
@overload
def select(
    votes: Any, *, item: str, by: Columns, k: Sizes, mechanism: str = ..., **options: Unpack[GroupOptions]
) -> ReleaseFamily: ...
@overload
def select(
    votes: Any, *, item: str, by: Columns, mechanism: Mechanism, **options: Unpack[GroupOptions]
) -> ReleaseFamily: ...
@overload
def select(
    votes: Any, *, item: str, every: str, k: Sizes, mechanism: str = ..., **options: Unpack[FamilyOptions]
) -> ReleaseFamily: ...
@overload
def select(
    votes: Any, *, item: str, every: str, mechanism: Mechanism, **options: Unpack[FamilyOptions]
) -> ReleaseFamily: ...
@overload
def select(votes: Any, *, item: str, person: str, mechanism: Mechanism, **options: Unpack[VoteOptions]) -> Release: ...
@overload
def select(votes: Any, *, item: str, count: str, mechanism: Mechanism, **options: Unpack[VoteOptions]) -> Release: ...
def select(
    votes: Any = None,
    *wrong: Any,
    item: str | None = None,
    person: str | None = None,
    count: str | None = None,
    domain: Any = None,
    domain_column: str | None = None,
    label: Columns | None = None,
    by: Columns | None = None,
    groups: Any = None,
    time: str | None = None,
    every: str | None = None,
    since: str | date | None = None,
    until: str | date | None = None,
    period: str | date | None = None,
    time_zone: str | None = None,
    per: str | None = None,
    weight: str | None = None,
    k: Sizes | None = None,
    epsilon: Real | None = None,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    once: str | None = None,
    note: str | None = None,
    bits: Bits | None = None,
    memory_limit: str | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Release | ReleaseFamily:
    """Release the k items of a domain with the most votes, best first, under differential privacy.

    What: `votes` is a frame, files, or a `shortlist.Query` on a database; docs/tables.md lists them. Its columns `item`
    and `person` are read, and a person counts once for an item. `domain` is the public list of all items that may be
    released, with its column `domain_column`; the columns `label` of it travel with the list. Without `domain`, items
    are what the votes say, and `delta` is needed: up to k items are released. With `count` in place of `person`, the
    table is counted already, and you guarantee that one person adds at most `sensitivity` to each count.

    Groups: with `by`, a column or several, the result is a `ReleaseFamily`: one list for each group. `groups` is the
    public list of groups, with these columns, and with a column `people` if their numbers of people are public. Without
    `groups`, the columns are those of the domain. Each person counts in at most `groups_per_person` groups, and
    `votes_per_person` is over all groups: one of them must be given. The guarantee is that of all lists together
    (docs/families.md). `people_epsilon` is an epsilon on top, for a noisy number of people of each group. Groups with
    fewer than `min_people` by that number get no list.

    Time: `time` is a column of dates or timestamps, and only votes of the public days from `since` to `until`, or of
    one `period` such as "2026-W36", count. With `every` ("day", "week", "month", "quarter" or "year") there is one list
    for each period of that range, and for each group. Instants are taken in `time_zone`, which is UTC by itself.
    With `per`, say "week", the guarantee is for one person in one week, and so are the limits: a person with votes in
    eight weeks has it eight times. Without `time`, `period` is only a note.

    Weights: `weight` is a column of numbers, such as minutes. Those of a person for an item are added up and cut at
    `max_weight`, which you choose without looking at the data, and an item has the sum over persons. `weight_unit` is
    the word for them, "minutes" say; by itself it is the name of the column (docs/weights.md). A column without numbers
    gives a list of chance: `check` says it, and a release cannot.

    Privacy: `epsilon` is read as the exact rational that was written. In its place, `rho` (zCDP) is for many lists
    under one budget. `delta` allows a failure probability. `ordered=False` leaves out the order. With
    `votes_per_person`, at most that many items of each person count; which ones depends only on that person's own
    votes. With "auto", a twentieth of epsilon or rho chooses that number privately, near a quantile of the votes per
    person, and the release states it (docs/parameters.md). `neighbours` is "add-remove" or "replace", and `unit` is the
    word for one person in the guarantee.

    Accuracy: `mechanism` is a name, with `beta`, `k_bar` or `noise` for the mechanisms that have them, or a mechanism
    object, which carries all parameters of its own. `assess` is an epsilon on top, for a bound on the error that uses
    these data. `counts_epsilon`, or `counts_rho` with `counts_delta`, is spent on noisy counts of the items, and with
    `others=True` of the votes for all other items. The guarantee of the release is the sum. `people` is the number of
    people, where that is public: a bound above it is a warning.

    Budget: with `ledger`, the release is charged to that budget before any vote is read and any randomness is drawn. If
    the budget does not cover it, nothing is computed. The environment variable SHORTLIST_LEDGER makes a ledger
    mandatory. A ledger with periods needs `time` and `period`, and charges that period. With `count`, `period` is
    enough: you vouch that the table is of that period alone. `note` says what the release is for. The record and the
    ledger hold it. `once` is a key that is released once: the ledger stores the release, and the same request with the
    same key gives it again, free and identical (docs/ledger.md).

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
    if wrong or item is None:
        raise _describe_right_call(wrong)
    from shortlist.ledger.charging import Account
    from shortlist.selection.labels import read_names
    from shortlist.votes.tallies import plan_tally

    source: dict[str, Any] = {"item": item, "person": person, "count": count, "time": time, "weight": weight}
    source |= {"domain": domain, "domain_column": domain_column, "groups": groups}
    _check_partners(source, options, label=label, by=by)
    days: dict[str, Any] = {"since": since, "until": until, "time_zone": time_zone}
    days |= {"period": period, "every": every, "per": per}
    span = read_span(time=time, **days)
    source["by"], label_names = ((), ()) if by is label is None else read_names(by, label, span)
    columns = source["by"] + (() if span is None or span.every is None else (str(span.every),))
    if weight is not None and options.get("weight_unit") is None:
        options["weight_unit"] = weight.replace("_", " ")
    options["unit"] = name_unit(options.get("unit", "person"), span, persons_counted=count is None)
    if span is not None and period is not None:
        days["period"] = str(Period.read(period))
    known = {"persons_counted": count is None, "without_domain": domain is None}
    read_terms = partial(Terms.read, mechanism, k, epsilon, **known, **options)
    # How many groups there are is known later. Until then, a person may be in as many as the limits allow.
    unknown = 0 if source["by"] or span is None else span.count_lists(len(span.periods))
    terms, report = read_terms(groups=unknown if columns else None), progress or (lambda step: None)
    account = Account.open(
        terms,
        votes=votes,
        asked={**source, **days, "label": label_names},
        ledger=ledger,
        once=once,
        note=note,
        bits=bits,
        period=days["period"],
        days=period if span is None and count is not None else span,  # who counted says of which days
        time=time,
    )
    if account.recalled is not None:
        return cast("Release | ReleaseFamily", account.recalled)

    def choose_cap(exceeding: Sequence[int]) -> int:
        # What follows has the noise for this cap. The charge does not depend on it.
        account.terms = account.terms.choose_cap(exceeding, account.bits)
        return cast("int", account.terms.votes_per_person)

    plan = plan_tally(
        votes,
        **source,
        votes_per_person=terms.votes_per_person,
        observed=domain is None,
        memory_limit=memory_limit,
        progress=report,
        groups_per_person=terms.mechanism.groups_per_person,
        with_people=terms.group_people is not None,
        caps=() if terms.private_cap is None else terms.private_cap.caps,
        choose_cap=None if terms.private_cap is None else choose_cap,
        span=span,
        max_weight=options.get("max_weight"),
        labels=label_names,
    )
    if plan.request.groups is None:
        terms.mechanism.check_size(plan.d)
    else:
        account.terms = read_terms(groups=plan.request.count_lists(len(plan.request.groups)))
        _check_sizes(account.terms.mechanism, plan)
    # All that names and types tell is checked. From here on votes are read, and a failure is paid for.
    if account.ledger is not None:
        account.charge(plan.time_kind)
    if account.recalled is not None:
        return cast("Release | ReleaseFamily", account.recalled)
    names, rows, drawn = _draw_from_votes(account, plan, report)
    labels = plan.find_labels(rows) if label_names else None
    return _make(account, names, drawn, span=span, labels=labels, by=columns, groups=plan.groups)


@overload
def top_k(
    counts: Labelled[Key], k: Sizes, epsilon: Real | None = ..., *, mechanism: str = ..., **options: Unpack[DrawOptions]
) -> list[Key]: ...
@overload
def top_k(counts: Labelled[Key], *, mechanism: Mechanism, **options: Unpack[DrawOptions]) -> list[Key]: ...
@overload
def top_k(
    counts: Any, k: Sizes, epsilon: Real | None = ..., *, mechanism: str = ..., **options: Unpack[DrawOptions]
) -> IntArray: ...
@overload
def top_k(counts: Any, *, mechanism: Mechanism, **options: Unpack[DrawOptions]) -> IntArray: ...
def top_k(
    counts: Any,
    k: Sizes | None = None,
    epsilon: Real | None = None,
    *,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    bits: Bits | None = None,
    **options: Any,
) -> Any:
    """Choose k items with the largest counts, best first, under differential privacy.

    `counts` holds one whole number for each item of a public domain. The result for a mapping is a list of its keys.
    For a pandas Series it is a list of its labels, and for an array or a list of numbers an array of indices.

    `epsilon` is read as the exact number that was written, and `rho` (zCDP) may take its place. `delta` allows a
    failure probability, and `ordered=False` leaves out the order: both make lists more accurate. `mechanism` is a name,
    with `beta`, `k_bar` or `noise` for the mechanisms that have them, or a mechanism object, which carries all
    parameters of its own.

    You vouch for how much one person adds: at most `sensitivity` to each count (1 if not given), and at most
    `votes_per_person` votes in all.

    Nothing is charged to a ledger. So if the environment variable SHORTLIST_LEDGER is set, `top_k` is refused:
    use `prepare(...).release()`. Without `bits`, the randomness of the operating system is used.

    >>> counts = {"apple": 310, "pear": 190, "plum": 12, "quince": 2}
    >>> top_k(counts, k=2, epsilon=1)
    ['apple', 'pear']
    """
    refuse_uncharged("top_k")
    if _OF_RELEASES & options.keys():
        whole = {name: options[name] for name in sorted(_OF_RELEASES & options.keys())}
        refuse_given(whole, "a whole release", "top_k returns the items alone", hint="use prepare(...).release()")
    terms, drawn_from = Terms.read(mechanism, k, epsilon, **options), read_bits(bits)
    selector: Selector[Any] = Selector(terms, *_read_labelled_counts(counts, terms.mechanism))
    return selector._name(selector._prepared.draw(drawn_from))[0]


@overload
def prepare(
    counts: Labelled[Key],
    k: Sizes,
    epsilon: Real | None = ...,
    *,
    mechanism: str = ...,
    **options: Unpack[ReleaseOptions],
) -> Selector[list[Key]]: ...
@overload
def prepare(
    counts: Labelled[Key], *, mechanism: Mechanism, **options: Unpack[ReleaseOptions]
) -> Selector[list[Key]]: ...
@overload
def prepare(
    counts: Any, k: Sizes, epsilon: Real | None = ..., *, mechanism: str = ..., **options: Unpack[ReleaseOptions]
) -> Selector[IntArray]: ...
@overload
def prepare(counts: Any, *, mechanism: Mechanism, **options: Unpack[ReleaseOptions]) -> Selector[IntArray]: ...
def prepare(
    counts: Any,
    k: Sizes | None = None,
    epsilon: Real | None = None,
    *,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    **options: Any,
) -> Selector[Any]:
    """Prepare `top_k` on a copy of the counts, to draw from it many times. Every draw costs the guarantee again.

    The parameters of `top_k` mean the same. Further ones are for `release`, which makes a whole release. `assess` is an
    epsilon on top, for a bound on the error that uses these data. `counts_epsilon`, or `counts_rho` with
    `counts_delta`, is spent on noisy counts of the items, and with `others=True` of the votes for all other items. The
    guarantee is the sum. `people` is the number of people, where that is public: a bound above it is a warning. `unit`
    is the word for one person in the guarantee, say "household".

    >>> selector = prepare({"apple": 310, "pear": 190, "plum": 12, "quince": 2}, k=2, epsilon=1)
    >>> selector
    Selector(Auto(k=2, epsilon=Fraction(1, 1), ...), 4 items)
    >>> selector.draw()
    ['apple', 'pear']
    >>> print(selector.guarantee)
    1-DP (rho 0.22272609965) for one person, add-remove
    """
    terms = Terms.read(mechanism, k, epsilon, **options)
    array, labels = _read_labelled_counts(counts, terms.mechanism)
    return Selector(terms, array.copy(), labels)


show_options(select, FamilyOptions, votes=Parameter.empty, item=Parameter.empty, sensitivity=1, unit="person")
show_options(top_k, ListOptions, sensitivity=1)
show_options(prepare, ReleaseOptions, sensitivity=1, unit="person")


class Selector(Generic[Items]):
    """A mechanism that is ready to draw from given counts. `prepare` makes one; a draw takes O(k)."""

    def __init__(self, terms: Terms, counts: IntArray, labels: list[Any] | None) -> None:
        self._terms = terms
        self._tally = ArrayTally(counts)
        self._labels = labels
        self._prepared = terms.mechanism.prepare(self._tally)

    def __repr__(self) -> str:
        return f"Selector({self.mechanism!r}, {self._tally.d} items)"

    @property
    def mechanism(self) -> Mechanism:
        """How items are chosen."""
        return self._terms.mechanism

    @property
    def guarantee(self) -> Guarantee:
        """What one release promises, with all that it holds. A draw of the items alone promises no less."""
        return self._terms.guarantee

    def draw(self, bits: Bits | None = None) -> Items:
        """Choose k items: a list of labels if the counts had labels, else an array of indices.

        The best is first. If the mechanism gives no order, the items are in the order of their labels or indices. Like
        `top_k`, a draw charges nothing, so it is refused if SHORTLIST_LEDGER is set.
        """
        refuse_uncharged("draw")
        items: Items = self._name(self._prepared.draw(read_bits(bits)))[0]
        return items

    def draw_many(self, n: int, bits: Bits | None = None) -> list[Items]:
        """Choose k items n times, independently, each as `draw` does; much faster than n calls of it.

        n draws are n releases. On private counts they cost the guarantee n times. `draw_many` is for counts that are
        public, past or invented, and for experiments. Like `draw`, it is refused if SHORTLIST_LEDGER is set.

        >>> counts = {"apple": 310, "pear": 190, "plum": 12, "quince": 2}
        >>> prepare(counts, k=2, epsilon=1).draw_many(3)
        [['apple', 'pear'], ['apple', 'pear'], ['apple', 'pear']]
        """
        refuse_uncharged("draw_many")
        many = self._prepared.draw_many(read_whole(n, name="n"), read_bits(bits))
        return [cast("Items", self._name(picks)[0]) for picks in many]

    def release(
        self,
        bits: Bits | None = None,
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        once: str | None = None,
        note: str | None = None,
        period: str | None = None,
    ) -> Release:
        """Draw once, and return the items with all that may be published about them.

        With `ledger`, the release is charged to that budget before anything is drawn. Each release is a charge of its
        own. The environment variable SHORTLIST_LEDGER makes a ledger mandatory. `note` and `period` say what the
        release is for and which time the counts are about. The record holds both, and the ledger the note. A ledger
        with periods charges that period, and you vouch that the counts are of no other. `once` is a key that is
        released once, as for `select`.
        """
        from shortlist.ledger.charging import Account

        account = Account.open(self._terms, ledger=ledger, once=once, note=note, bits=bits, period=period, days=period)
        if account.ledger is not None and account.recalled is None:
            from shortlist.record import check_items

            check_items(self._labels or ())
            account.charge()
        if account.recalled is not None:
            return cast("Release", account.recalled)
        (picks,), (own,) = self._terms.draw([self._tally], account.bits, prepared=self._prepared)
        items, noisy = self._name(picks)
        return cast("Release", _make(account, [items], [{**own, "d": self._tally.d, "noisy": noisy}]))

    def _name(self, picks: Picks) -> tuple[Any, IntArray | None]:
        """Name the picked items, and put them and their noisy counts in the order in which they are published."""
        indices, noisy = picks.publish(self._tally.items(picks))
        if self._labels is None:
            return indices, noisy
        items = [self._labels[index] for index in indices.tolist()]
        if not picks.unordered:
            return items, noisy
        order = _order_labels(items)
        return [items[place] for place in order], None if noisy is None else noisy[order]


def _draw_from_votes(
    account: Account, plan: TallyPlan, report: Callable[[str], None]
) -> tuple[Sequence[Sequence[Any]], list[IntArray], list[dict[str, Any]]]:
    """Count the votes, and draw: the items and rows of each list, and by name what `Terms.state_list` states of it."""
    tally = plan.count()
    report("Drawing the items")
    all_picks, drawn = account.terms.draw(tally, account.bits, people=tally.people)
    report("Naming the items")
    published = list(map(Picks.publish, all_picks, tally.rows(all_picks)))
    unknown = [None] * len(drawn)
    known = zip(published, plan.sizes or unknown, plan.people or unknown, drawn, strict=True)
    stated = [{**own, "noisy": counts, "d": d, "people": people} for (_, counts), d, people, own in known]
    rows = [each for each, _ in published]
    return tally.names(rows), rows, stated


def _make(
    account: Account,
    names: Iterable[Sequence[Any]],
    drawn: Sequence[Mapping[str, Any]],
    *,
    span: Span | None = None,
    labels: Iterable[Mapping[str, Sequence[Any]]] | None = None,
    by: tuple[str, ...] = (),
    groups: Iterable[tuple[Any, ...]] | None = None,
) -> Release | ReleaseFamily:
    """Make the release or the family that was charged. The caller of its caller is warned of what it lacks."""
    from shortlist.release import GroupList, Release, ReleaseFamily
    from shortlist.usefulness import UsefulnessWarning, find_warnings, show_warning

    terms = account.terms
    lists: list[dict[str, Any]] = [
        {"items": tuple(items), "labels": known, **terms.state_list(**own)}
        for items, known, own in zip(names, labels or [{}] * len(drawn), drawn, strict=True)
    ]
    promise = terms.state_promise(drawn[0]["chosen"])
    common = {"secure": is_secure(account.bits), "span": span, **promise, **account.describe()}
    if groups is None:
        release: Release | ReleaseFamily = Release(**lists[0], **common)
    else:
        family = [GroupList(group=group, **each) for group, each in zip(groups, lists, strict=True)]
        release = ReleaseFamily(by=by, lists=tuple(family), **common)
    release = account.finish(release)
    for text in find_warnings(release, terms.people):
        show_warning(text, UsefulnessWarning, stacklevel=4)
    return release


def _check_partners(source: Mapping[str, Any], options: Mapping[str, Any], *, label: object, by: object) -> None:
    """Refuse options that mean nothing without another one."""
    if source["domain"] is None:
        refuse_given({"domain_column": source["domain_column"], "label": label}, "`domain`")
    if source["weight"] is None:
        refuse_given({"weight_unit": options.get("weight_unit")}, "`weight`, the column of weights")
    from shortlist.votes.source import check_weight

    check_weight(source["weight"], options.get("max_weight"), source["person"])
    if by is None:
        refuse_given({"groups": source["groups"]}, "`by`, the columns of the groups")


def _check_sizes(mechanism: Mechanism, plan: TallyPlan) -> None:
    """Refuse a group with fewer than k items. What is in a catalogue is public."""
    smallest = min(plan.sizes or (), default=mechanism.k)
    if mechanism.needs_domain and mechanism.k > smallest:
        raise DataError(
            "`k` must be at most the number of items of each group",
            f"k is {mechanism.k}, and a group has {smallest}",
            hint="ask for fewer items, or leave such groups out of `groups`",
        )


def _describe_right_call(wrong: tuple[Any, ...]) -> ParameterError:
    """Answer a call that gives columns by their place, or no item, with the right call."""
    texts = [each for each in wrong if isinstance(each, str)]
    person, named = (*texts, "user_id", "track")[:2] if len(texts) != 1 else ("user_id", texts[0])
    return ParameterError(
        "select takes one table, and all else by name" if wrong else "`item` must be given",
        "further ones were given by their place" if wrong else None,
        hint=f"write select(votes, person={person!r}, item={named!r}, domain='catalogue.csv', k=10, epsilon=1)",
    )


def _read_labelled_counts(counts: Any, mechanism: Mechanism) -> tuple[IntArray, list[Any] | None]:
    """Read counts. Without a domain, labels are put in their own order: the order of a mapping may be data.

    The caller of its caller is warned of counts as `value_counts` of pandas gives them: their name says that they come
    from a column of votes.
    """
    array, labels = read_counts(counts, widen=False)
    if labels is None:
        return array, labels
    if mechanism.needs_domain:
        if getattr(counts, "name", None) == "count":
            from shortlist.usefulness import UsefulnessWarning

            text = (
                "counts named 'count' look like the result of value_counts(), which lists only items with a vote: "
                "whether an item is listed then depends on single persons. Pass the votes to select, or "
                "counts.reindex(catalogue, fill_value=0).rename(None)"
            )
            warnings.warn(text, UsefulnessWarning, stacklevel=3)
        return array, labels
    from shortlist.votes.values import write_item

    if None in map(write_item, labels):
        raise DataError("the labels of `counts` must be text, whole numbers, dates, times, decimals or bytes")
    order = _order_labels(labels)
    return array[order], [labels[place] for place in order]


def _order_labels(labels: list[Any]) -> list[int]:
    """Order the labels of a set by their values alone. The order of a mapping may be data, as in `value_counts()`.

    >>> _order_labels(["pear", "apple"]), _order_labels([10, 9]), _order_labels([("b",), "a"])
    ([1, 0], [1, 0], [0, 1])
    >>> _order_labels([b"a", "a"])
    [1, 0]
    """
    keys = labels
    if {type(label) for label in labels} not in ({str}, {int}):
        from shortlist.votes.values import write_item

        # Text and its bytes are written alike.
        keys = [(write_item(label) or repr(label).encode(), repr(label)) for label in labels]
    return sorted(range(len(keys)), key=keys.__getitem__)
