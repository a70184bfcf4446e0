"""Choose items by counts in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, read_bits
from shortlist.ledger import refuse_uncharged
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.near_names import suggest_names
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, read_whole
from shortlist.profile import Picks
from shortlist.selection.labels import Series, order_labels, read_labelled_counts
from shortlist.terms import EXTRAS, Terms
from shortlist.votes.memory.arrays import ArrayTally

if TYPE_CHECKING:  # a list alone needs no ledger and no release, so these modules are imported where they are used
    from shortlist.ledger import Ledger
    from shortlist.release import Release

Key = TypeVar("Key")
Items = TypeVar("Items", covariant=True)


@overload
def top_k(
    counts: Mapping[Key, Any],
    k: int | tuple[int, int] | None = ...,
    epsilon: Real | None = ...,
    *,
    mechanism: str | Mechanism = ...,
    neighbours: str | None = ...,
    bits: Bits | None = ...,
    **parameters: Any,
) -> list[Key]: ...
@overload
def top_k(
    counts: Series,
    k: int | tuple[int, int] | None = ...,
    epsilon: Real | None = ...,
    *,
    mechanism: str | Mechanism = ...,
    neighbours: str | None = ...,
    bits: Bits | None = ...,
    **parameters: Any,
) -> list[Any]: ...
@overload
def top_k(
    counts: Any,
    k: int | tuple[int, int] | None = ...,
    epsilon: Real | None = ...,
    *,
    mechanism: str | Mechanism = ...,
    neighbours: str | None = ...,
    bits: Bits | None = ...,
    **parameters: Any,
) -> IntArray: ...
def top_k(
    counts: Any,
    k: int | tuple[int, int] | None = None,
    epsilon: Real | None = None,
    *,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    neighbours: str | None = None,
    bits: Bits | None = None,
    **parameters: Any,
) -> Any:
    """Choose k items with the largest counts, best first, under differential privacy.

    `counts` holds one whole number for each item of a public domain. One person adds at most 1 to each count. The
    result for a mapping is a list of its keys. For a pandas Series it is a list of its labels, and for an array or a
    list of numbers an array of indices. `epsilon` is read as the exact number that was written. Without `bits`, the
    randomness of the operating system is used. `parameters` are those of the mechanism, and two that the caller vouches
    for. With `sensitivity=N`, one person adds at most N to each count. With `votes_per_person=m`, one person has
    at most m votes, so adds to at most m counts. A release records the latter as declared, not enforced.

    Nothing is charged to a ledger. So if the environment variable SHORTLIST_LEDGER is set, `top_k` is refused:
    use `prepare(...).release()`.

    >>> counts = {"apple": 310, "pear": 190, "plum": 12, "quince": 2}
    >>> top_k(counts, k=2, epsilon=1)
    ['apple', 'pear']
    """
    refuse_uncharged("top_k")
    wanted = [name for name in sorted(EXTRAS | {"people", "unit"}) if parameters.get(name) is not None]
    if wanted:
        raise ParameterError(
            f"{{{wanted[0]}}} must go with a whole release",
            "top_k returns the items alone",
            hint="use prepare(...).release()",
        )
    terms, drawn_from = Terms.read(mechanism, k, epsilon, neighbours, **parameters), read_bits(bits)
    array, labels = read_labelled_counts(counts, terms.mechanism)
    return Selector(terms, ArrayTally(array), labels).draw(drawn_from)


@overload
def prepare(
    counts: Mapping[Key, Any],
    k: int | tuple[int, int] | None = ...,
    epsilon: Real | None = ...,
    *,
    mechanism: str | Mechanism = ...,
    neighbours: str | None = ...,
    **parameters: Any,
) -> Selector[list[Key]]: ...
@overload
def prepare(
    counts: Series,
    k: int | tuple[int, int] | None = ...,
    epsilon: Real | None = ...,
    *,
    mechanism: str | Mechanism = ...,
    neighbours: str | None = ...,
    **parameters: Any,
) -> Selector[list[Any]]: ...
@overload
def prepare(
    counts: Any,
    k: int | tuple[int, int] | None = ...,
    epsilon: Real | None = ...,
    *,
    mechanism: str | Mechanism = ...,
    neighbours: str | None = ...,
    **parameters: Any,
) -> Selector[IntArray]: ...
def prepare(
    counts: Any,
    k: int | tuple[int, int] | None = None,
    epsilon: Real | None = None,
    *,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    neighbours: str | None = None,
    **parameters: Any,
) -> Selector[Any]:
    """Prepare `top_k` on a copy of the counts, to draw from it many times. Every draw costs the guarantee again.

    Some parameters are for `release`, which makes a whole release. `assess` is an epsilon on top, for a bound on
    the error that uses these data. `counts_epsilon`, or `counts_rho` with `counts_delta`, is spent on noisy counts of
    the items. The guarantee is the sum. `people` is the number of people, where that is public: a bound above it is a
    warning. `unit` is the word for one person in the guarantee, say "household".

    >>> selector = prepare({"apple": 310, "pear": 190, "plum": 12, "quince": 2}, k=2, epsilon=1)
    >>> selector
    Selector(Auto(k=2, epsilon=Fraction(1, 1), ...), 4 items)
    >>> selector.draw()
    ['apple', 'pear']
    >>> print(selector.guarantee)
    1-DP (rho 0.22272609965) for one person, add-remove
    """
    terms = Terms.read(mechanism, k, epsilon, neighbours, **parameters)
    array, labels = read_labelled_counts(counts, terms.mechanism)
    return Selector(terms, ArrayTally(array.copy()), labels)


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
        return self._terms.state_guarantee()

    @suggest_names
    def draw(self, bits: Bits | None = None) -> Items:
        """Choose k items: a list of labels if the counts had labels, else an array of indices.

        The best is first. If the mechanism gives no order, the items are in the order of their labels or indices. Like
        `top_k`, a draw charges nothing, so it is refused if SHORTLIST_LEDGER is set.
        """
        refuse_uncharged("draw")
        drawn_from = read_bits(bits)
        items: Items = self._name(self._prepared.draw(drawn_from))[0]
        return items

    @suggest_names
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
            lists = [[each[place] for place in order_labels(each)] for each in lists]
        return cast("list[Items]", lists)

    @suggest_names
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
        warn(release, terms.people, stacklevel=3)  # above this method and its decorator
        return release

    def _name(self, picks: Picks) -> tuple[Any, IntArray | None]:
        indices, noisy = picks.publish(self._tally.items(picks))
        if self._labels is None:
            return indices, noisy
        items = [self._labels[index] for index in indices.tolist()]
        order = order_labels(items) if picks.unordered else range(len(items))
        return [items[place] for place in order], None if noisy is None else noisy[list(order)]
