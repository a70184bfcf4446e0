"""Random tables of votes, made to be miscounted: values that an engine may round, fold, convert or take for equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from shortlist.exact.bits import Bits

if TYPE_CHECKING:
    import pyarrow

_Value = TypeVar("_Value")

DOMAINS: dict[str, list[Any]] = {
    "text": ["a", "A", "b", "ä", "7", "007", "1.5", "true", "2024-02-29", "k"],
    "whole numbers": [7, 0, -1, 127, 2**31, 2**53, 2**53 + 1, 2**63 - 1],
    "decimals": [Decimal("1.50"), Decimal("2.00"), Decimal("-0.25"), Decimal("7.00")],
    "dates": [date(2024, 2, 29), date(1970, 1, 1), date(9999, 12, 31)],
    "timestamps": [datetime(2024, 2, 29, 12, 30), datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 0, 1)],
}
"""Public lists of items, by what they hold."""

_VOTES: dict[str, tuple[str, list[Any]]] = {
    "text": ("string", [*DOMAINS["text"], "", "a ", "Ä", "a\u0308", "\u212a", "+7", "7.0", "NULL", "NaN", "TRUE"]),
    "int64": ("int64", [*DOMAINS["whole numbers"], -(2**63), 2**53 + 2, 128]),
    "float64": ("float64", [7.0, 0.0, 127.0, 7.5, 1.5, -0.0, float("nan"), float("inf"), 2.0**53, 1e300]),
    "decimal": ("decimal128(20, 5)", [Decimal("1.5"), Decimal("2"), Decimal("7"), Decimal("1.50001")]),
    "date": ("date32", [*DOMAINS["dates"], date(1, 1, 1)]),
    "timestamp": ("timestamp[us]", [*DOMAINS["timestamps"], datetime(2024, 2, 29), datetime(1600, 1, 1)]),
}
"""Types of votes in Arrow, and values of them."""
_ORDINARY = 3
"""The first values of each type are items of the domain that fits the type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """A domain, the votes of some people, and those of one person more."""

    items: list[Any]
    kind: str
    people: list[list[Any]]
    cap: int | None
    first: bool = False
    """Whether the rows of the last person come before all others. An engine may trust what it reads first."""

    def table(self, *, last: bool) -> pyarrow.Table:
        """The votes as a table, with or without the last person."""
        import pyarrow as pa

        rows = [(person, item) for person, items in enumerate(self.people[:-1]) for item in items]
        if last:
            own = [(len(self.people) - 1, item) for item in self.people[-1]]
            rows = [*own, *rows] if self.first else [*rows, *own]
        name = _VOTES[self.kind][0]
        kind = pa.decimal128(20, 5) if self.kind == "decimal" else pa.timestamp("us") if "time" in name else name
        users = pa.array([person for person, _ in rows], pa.int64())
        return pa.table({"user": users, "track": pa.array([item for _, item in rows], kind)})


def invent_neighbours(bits: Bits) -> Neighbours:
    """Invent two tables that differ in one person, whose votes are among those that are hardest to count."""
    kind = choose(sorted(_VOTES), bits)
    # Mostly a domain of the same kind, and text, which any engine is tempted to convert.
    own = {"text": "text", "int64": "whole numbers", "float64": "whole numbers", "decimal": "decimals"}
    same = own.get(kind, "dates" if kind == "date" else "timestamps")
    domain = choose([same, same, same, "text", *DOMAINS], bits)
    values = [*_VOTES[kind][1], None]
    # If all others are ordinary, the last person alone has what may be an error, or decide how a column is read.
    usual = choose([values, values[:_ORDINARY]], bits)
    people = [[choose(usual, bits) for _ in range(1 + draw_small(6, bits))] for _ in range(1 + draw_small(5, bits))]
    people.append([choose(choose([values, values[:_ORDINARY]], bits), bits) for _ in range(3 + draw_small(8, bits))])
    cap, first = choose([None, 1, 2], bits), choose([False, True], bits)
    return Neighbours(items=DOMAINS[domain], kind=kind, people=people, cap=cap, first=first)


def choose(values: Sequence[_Value], bits: Bits) -> _Value:
    """Choose one of a few values."""
    return values[draw_small(len(values), bits)]


def draw_small(bound: int, bits: Bits) -> int:
    """Draw a number below a small bound. It needs no exact law: these votes are inventions."""
    return int.from_bytes(bits.draw(8)) % bound
