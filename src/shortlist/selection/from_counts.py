"""Choose items by counts in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, Unpack, cast, overload

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import Bits, read_bits
from shortlist.ledger import refuse_uncharged
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.near_names import show_options
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, read_whole
from shortlist.profile import Picks
from shortlist.terms import EXTRAS, ListOptions, ReleaseOptions, Sizes, Terms
from shortlist.votes.array_counts import ArrayTally, read_counts

if TYPE_CHECKING:  # a list alone needs no ledger and no release, so these modules are imported where they are used
    from shortlist.ledger import Ledger
    from shortlist.release import Release

Key = TypeVar("Key")
Items = TypeVar("Items", covariant=True)


class Series(Protocol):
    """Counts with labels, as pandas has them."""

    @property
    def index(self) -> Any:
        """The labels."""

    def to_numpy(self) -> Any:
        """The counts."""


@overload
def top_k(
    counts: Mapping[Key, Any],
    k: Sizes,
    epsilon: Real,
    *,
    mechanism: str = ...,
    bits: Bits | None = ...,
    **options: Unpack[ListOptions],
) -> list[Key]: ...
@overload
def top_k(
    counts: Mapping[Key, Any], *, mechanism: Mechanism, bits: Bits | None = ..., **options: Unpack[ListOptions]
) -> list[Key]: ...
@overload
def top_k(
    counts: Series,
    k: Sizes,
    epsilon: Real,
    *,
    mechanism: str = ...,
    bits: Bits | None = ...,
    **options: Unpack[ListOptions],
) -> list[Any]: ...
@overload
def top_k(
    counts: Series, *, mechanism: Mechanism, bits: Bits | None = ..., **options: Unpack[ListOptions]
) -> list[Any]: ...
@overload
def top_k(
    counts: Any,
    k: Sizes,
    epsilon: Real,
    *,
    mechanism: str = ...,
    bits: Bits | None = ...,
    **options: Unpack[ListOptions],
) -> IntArray: ...
@overload
def top_k(
    counts: Any, *, mechanism: Mechanism, bits: Bits | None = ..., **options: Unpack[ListOptions]
) -> IntArray: ...
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

    `epsilon` is read as the exact number that was written. `delta` allows a failure probability, and `ordered=False`
    leaves out the order: both make lists more accurate. `mechanism` is a name, with `beta`, `k_bar` or `noise` for the
    mechanisms that have them, or a mechanism object, which carries all parameters of its own.

    You vouch for how much one person adds: at most `sensitivity` to each count (1 if not given), and at most
    `votes_per_person` votes in all.

    Nothing is charged to a ledger. So if the environment variable SHORTLIST_LEDGER is set, `top_k` is refused:
    use `prepare(...).release()`. Without `bits`, the randomness of the operating system is used.

    >>> counts = {"apple": 310, "pear": 190, "plum": 12, "quince": 2}
    >>> top_k(counts, k=2, epsilon=1)
    ['apple', 'pear']
    """
    refuse_uncharged("top_k")
    wanted = [name for name in sorted(EXTRAS | {"people", "unit"}) if options.get(name) is not None]
    if wanted:
        raise ParameterError(
            f"`{wanted[0]}` must go with a whole release",
            "top_k returns the items alone",
            hint="use prepare(...).release()",
        )
    terms = Terms.read(mechanism, k, epsilon, **options)
    drawn_from = read_bits(bits)
    array, labels = _read_labelled_counts(counts, terms.mechanism)
    return Selector(terms, ArrayTally(array), labels).draw(drawn_from)


@overload
def prepare(
    counts: Mapping[Key, Any], k: Sizes, epsilon: Real, *, mechanism: str = ..., **options: Unpack[ReleaseOptions]
) -> Selector[list[Key]]: ...
@overload
def prepare(
    counts: Mapping[Key, Any], *, mechanism: Mechanism, **options: Unpack[ReleaseOptions]
) -> Selector[list[Key]]: ...
@overload
def prepare(
    counts: Series, k: Sizes, epsilon: Real, *, mechanism: str = ..., **options: Unpack[ReleaseOptions]
) -> Selector[list[Any]]: ...
@overload
def prepare(counts: Series, *, mechanism: Mechanism, **options: Unpack[ReleaseOptions]) -> Selector[list[Any]]: ...
@overload
def prepare(
    counts: Any, k: Sizes, epsilon: Real, *, mechanism: str = ..., **options: Unpack[ReleaseOptions]
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
    `counts_delta`, is spent on noisy counts of the items. The guarantee is the sum. `people` is the number of people,
    where that is public: a bound above it is a warning. `unit` is the word for one person in the guarantee, say
    "household".

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
    return Selector(terms, ArrayTally(array.copy()), labels)


show_options(top_k, ListOptions, sensitivity=1)
show_options(prepare, ReleaseOptions, sensitivity=1, unit="person")


class Selector(Generic[Items]):
    """A mechanism that is ready to draw from given counts. `prepare` makes one; a draw takes O(k)."""

    def __init__(self, terms: Terms, tally: ArrayTally, labels: list[Any] | None) -> None:
        self._terms = terms
        self._tally = tally
        self._labels = labels
        self._prepared = terms.mechanism.prepare(tally)

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
        drawn_from = read_bits(bits)
        items: Items = self._name(self._prepared.draw(drawn_from))[0]
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
        drawn_from = read_bits(bits)
        many = self._prepared.draw_many(read_whole(n, name="n"), drawn_from)
        levels, ranks = (np.concatenate([getattr(each, name) for each in many]) for name in ("levels", "ranks"))
        ends = np.cumsum([len(each.levels) for each in many])
        rows = np.split(self._tally.items(Picks(levels=levels, ranks=ranks)), ends[:-1])
        items: list[Any] = [picks.publish(each)[0] for picks, each in zip(many, rows, strict=True)]
        if self._labels is None:
            return items
        lists = [[self._labels[index] for index in each.tolist()] for each in items]
        if many[0].unordered:
            lists = [[each[place] for place in _order_labels(each)] for each in lists]
        return cast("list[Items]", lists)

    def release(
        self,
        bits: Bits | None = None,
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        note: str | None = None,
        period: str | None = None,
    ) -> Release:
        """Draw once, and return the items with all that may be published about them.

        With `ledger`, the release is charged to that budget before anything is drawn. Each release is a charge of its
        own. The environment variable SHORTLIST_LEDGER makes a ledger mandatory. `note` and `period` say what the
        release is for and which time the counts are about. The record holds both, and the ledger the note.
        """
        from shortlist.ledger import open_account
        from shortlist.release import make_release, warn

        drawn_from, terms = read_bits(bits), self._terms
        account = open_account(ledger, terms, bits=drawn_from, note=note, period=period)
        account.charge(self._tally.d)
        picks, spread = terms.draw_extras(self._prepared.draw(drawn_from), self._tally, drawn_from)
        items, noisy = self._name(picks)
        release = make_release(
            terms,
            items,
            d=self._tally.d,
            bits=drawn_from,
            noisy=noisy,
            chosen=picks.chosen,
            spread=spread,
            **account.describe(),
        )
        account.finish(release)
        warn(release, terms.people, stacklevel=2)
        return release

    def _name(self, picks: Picks) -> tuple[Any, IntArray | None]:
        indices, noisy = picks.publish(self._tally.items(picks))
        if self._labels is None:
            return indices, noisy
        items = [self._labels[index] for index in indices.tolist()]
        order = _order_labels(items) if picks.unordered else range(len(items))
        return [items[place] for place in order], None if noisy is None else noisy[list(order)]


def _read_labelled_counts(counts: Any, mechanism: Mechanism) -> tuple[IntArray, list[Any] | None]:
    """Read counts. Without a domain, labels are put in the order of their bytes: the order of a mapping may be data."""
    array, labels = read_counts(counts, widen=False)
    if mechanism.needs_domain and labels is not None and getattr(counts, "name", None) == "count":
        _warn_of_observed_items()
    if mechanism.needs_domain or labels is None:
        return array, labels
    from shortlist.votes.values import write_item

    keys = [write_item(label) for label in labels]
    if None in keys:
        raise DataError("the labels of `counts` must be text, whole numbers, dates, times, decimals or bytes")
    order = sorted(range(len(keys)), key=lambda place: keys[place] or b"")
    return array[order], [labels[place] for place in order]


def _warn_of_observed_items() -> None:
    """Warn of counts as `value_counts` of pandas gives them: its name says that they come from a column of votes."""
    import warnings

    from shortlist.release import UsefulnessWarning

    text = (
        "counts named 'count' look like the result of value_counts(), which lists only items with a vote: whether an "
        "item is listed then depends on single persons. Pass the votes to select, or counts.reindex(catalogue, "
        "fill_value=0).rename(None)"
    )
    warnings.warn(text, UsefulnessWarning, stacklevel=4)


def _order_labels(labels: list[Any]) -> list[int]:
    """Order the labels of a set by their values alone. The order of a mapping may be data, as in `value_counts()`.

    >>> _order_labels(["pear", "apple"]), _order_labels([10, 9]), _order_labels([("b",), "a"])
    ([1, 0], [1, 0], [0, 1])
    """
    keys = labels
    if {type(label) for label in labels} not in ({str}, {int}):
        from shortlist.votes.values import write_item

        keys = [write_item(label) or repr(label).encode() for label in labels]
    return sorted(range(len(keys)), key=keys.__getitem__)
