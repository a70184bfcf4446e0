"""The two ways in: votes wherever they are, to a release that can be published; or counts in memory, to the items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, source
from shortlist.mechanisms import Mechanism, mechanism_named
from shortlist.privacy import positive
from shortlist.profile import IntArray
from shortlist.release import Release, check_may_release, scaled
from shortlist.votes import tally
from shortlist.votes.arrays import ArrayTally, read_counts


def select(
    votes: Any = None,
    *,
    item: str,
    person: str | None = None,
    domain: Any = None,
    k: int | None = None,
    epsilon: Any = None,
    mechanism: str | Mechanism = "joint",
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
    1-DP (rho 0.125) for one person, add-remove
    """
    times = _checked_sensitivity(sensitivity, count)
    per_vote = None if epsilon is None else positive(epsilon, name="epsilon") / times
    chosen = mechanism_named(mechanism, k=k, epsilon=per_vote, neighbours=neighbours, **parameters)
    guarantee = scaled(chosen.guarantee, times, unit=unit)
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
    public = {**chosen.parameters, "epsilon": guarantee.epsilon}
    return Release(
        items=tuple(counted.items(picks)),
        mechanism=chosen.name,
        parameters=public if times == 1 else {**public, "sensitivity": times},
        guarantee=guarantee,
        d=counted.d,
        secure=drawn_from.secure,
    )


def top_k(
    counts: Any,
    k: int | None = None,
    epsilon: Any = None,
    *,
    mechanism: str | Mechanism = "joint",
    neighbours: str | None = None,
    bits: Bits | None = None,
    **parameters: Any,
) -> IntArray | list[Any]:
    """Choose k items with the largest counts, best first, under differential privacy.

    `counts` holds one whole number for each item of a public domain, and one person adds at most 1 to each: an array
    or what becomes one, and then indices are returned; or a mapping, and then a list of its keys. `epsilon` is read
    as the exact rational that was written. Without `bits`, the operating system's randomness is used.

    >>> counts = {"apple": 310, "pear": 190, "plum": 12, "quince": 2}
    >>> top_k(counts, k=2, epsilon=1)
    ['apple', 'pear']
    """
    chosen = mechanism_named(mechanism, k=k, epsilon=epsilon, neighbours=neighbours, **parameters)
    drawn_from = source(bits)
    check_may_release(chosen, drawn_from)
    array, keys = read_counts(counts)
    return Selector(chosen, ArrayTally(array), keys).draw(drawn_from)


def prepare(
    counts: Any,
    k: int | None = None,
    epsilon: Any = None,
    *,
    mechanism: str | Mechanism = "joint",
    neighbours: str | None = None,
    **parameters: Any,
) -> Selector:
    """Prepare `top_k` on a copy of the counts, to draw from it many times; every draw costs the guarantee again.

    >>> selector = prepare({"apple": 310, "pear": 190, "plum": 12, "quince": 2}, k=2, epsilon=1)
    >>> selector.draw()
    ['apple', 'pear']
    """
    chosen = mechanism_named(mechanism, k=k, epsilon=epsilon, neighbours=neighbours, **parameters)
    array, keys = read_counts(counts)
    return Selector(chosen, ArrayTally(array.copy()), keys)


class Selector:
    """A mechanism that has seen the counts. Preparing pays for the levels and the weights; a draw takes O(k)."""

    def __init__(self, mechanism: Mechanism, tally: ArrayTally, keys: list[Any] | None) -> None:
        self._mechanism = mechanism
        self._tally = tally
        self._keys = keys
        self._prepared = mechanism.prepare(tally)

    def draw(self, bits: Bits | None = None) -> IntArray | list[Any]:
        """Choose k items, best first: indices, or keys if the counts had some."""
        drawn_from = source(bits)
        check_may_release(self._mechanism, drawn_from)
        items = self._tally.items(self._prepared.draw(drawn_from))
        return items if self._keys is None else [self._keys[index] for index in items.tolist()]


def _checked_sensitivity(sensitivity: int, count: str | None) -> int:
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
        raise ParameterError(f"sensitivity must be a whole number from 1, not {sensitivity!r}.")
    if sensitivity > 1 and count is None:
        raise ParameterError(
            "sensitivity must go with count: where persons are known, each counts once for an item.",
            hint="leave sensitivity out",
        )
    return sensitivity
