"""A release, or a family of lists that were released together: everything that may be published, and nothing else.

The items, their noisy counts, the assessment and the choice of `auto` depend on the data, and the guarantee covers
them. The rest is public before the votes are read.
"""

from __future__ import annotations

import csv
import html
import io
import itertools
import os
import stat
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from shortlist import record, registry
from shortlist.atomic_files import write_whole
from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import SystemBits
from shortlist.mechanisms import MECHANISMS
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, NoisyPeople, ReleasedCounts
from shortlist.periods import Span
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import write_count
from shortlist.safe_text import escape, escape_surrogates
from shortlist.terms import MAY_BE_RANDOM, TOO_FEW_PEOPLE, find_least_bound
from shortlist.version import __version__
from shortlist.votes.libraries import import_optional

PathLike = str | os.PathLike[str]

METADATA = "shortlist.release"
"""Under this name, Parquet and Arrow metadata and pandas attributes hold the whole record as JSON."""
NOT_SECURE = "NOT SECURE: made with repeatable randomness, for tests only."

_LONGEST_NAME = 255
_SHOWN = 20
"""How many items `repr` shows, and about how many rows of a family a table shows."""
_NUMBERS = ("rank", "count", "low", "high", "people", "people_low", "people_high")
"""The columns of whole numbers."""
_LARGE_EPSILON = 20
_LARGE_RISK = Fraction(1, 10)
"""A delta times the number of people above this is remarked on: delta must be far below 1/people."""
_LARGE_DELTA = Fraction(1, 1000)
"""Without a number of people, a delta above this is remarked on."""
_LARGE_BOUND = 10_000
"""A bound of more votes than this is remarked on, where neither people nor counts say more about it."""


def read_clock() -> datetime:
    """Read the time of the clock in UTC, in whole seconds. It is shown to readers. No guarantee depends on it."""
    return datetime.now(UTC).replace(microsecond=0)


def draw_identifier() -> str:
    """Draw an identifier that nothing else has."""
    return SystemBits().draw(16).hex()


class _Value:
    """A value that can be copied and pickled, although its mappings cannot be changed."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]
        plain = {name: dict(each) if isinstance(each, MappingProxyType) else each for name, each in values.items()}
        return partial(type(self), **plain), ()


class _Items(_Value, Sequence[Any]):
    """A list of items, and what is known about it."""

    __slots__ = ()

    items: tuple[Any, ...]
    labels: Mapping[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        plain = tuple(item.item() if isinstance(item, np.generic) else item for item in self.items)
        labels = {name: tuple(column) for name, column in self.labels.items()}
        object.__setattr__(self, "items", plain)
        object.__setattr__(self, "labels", MappingProxyType(labels))

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.items[index]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupList(_Items):
    """The list of one group of a family: the chosen items, best first, and what may be published about them.

    A list is a sequence of its items. `group` holds the values of the group, one for each column. `people` is the
    number of people in it, where that is public, and `noisy_people` is a noisy number of them, where it was bought.
    `remark` says that the list may be random, if its bound is at least that number, or that there are too few people:
    then there is no list. The guarantee is that of the family.
    """

    group: tuple[Any, ...]
    items: tuple[Any, ...]
    domain_size: int | None
    counts: ReleasedCounts | None = None
    error_bound: ErrorBound | None = None
    assessment: Assessment | None = None
    labels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    people: int | None = None
    noisy_people: NoisyPeople | None = None
    remark: str | None = None

    def __hash__(self) -> int:
        return hash((self.group, self.items, self.domain_size))

    def __repr__(self) -> str:
        listed = TOO_FEW_PEOPLE if self.is_left_out else ", ".join(map(escape, self.items))
        return f"<{', '.join(map(escape, self.group))}: {listed}>"

    @property
    def is_left_out(self) -> bool:
        """Whether the group has no list, because its noisy number of people is too small."""
        return self.remark == TOO_FEW_PEOPLE


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Publication(_Value, ABC):
    """What is published at once under one guarantee: what a release and a family of lists have in common.

    `parameters` are the public parameters of the mechanism. `secure` is true if the randomness came from the operating
    system. The guarantee holds only then. With `persons_counted`, this library counted different persons. Otherwise the
    caller stated how much one person adds. `ordered` is false if the order of the items means nothing. `up_to` is how
    many items a list has at most, where the mechanism may choose fewer or none, and None where the number is fixed.

    `id` is random, so no two records are the same. `made` is when the release was charged or asked for, in UTC.
    `charge` is its number in the ledger with the identifier `ledger`. `note` and `period` are what the caller wrote.
    With `span`, only votes of these days count. If it has `per`, the guarantee is for one person in one such period.
    """

    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    secure: bool
    persons_counted: bool = False
    version: str = __version__
    ordered: bool = True
    up_to: int | None = None
    note: str | None = None
    period: str | None = None
    span: Span | None = None
    population: str | None = None
    ledger: str | None = None
    charge: int | None = None
    id: str = field(default_factory=draw_identifier, compare=False)
    made: datetime = field(default_factory=read_clock, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    if TYPE_CHECKING:

        @property
        def by(self) -> tuple[str, ...]:
            """The columns of the groups: none for one list."""

        @property
        def lists(self) -> tuple[Release | GroupList, ...]:
            """All lists."""

    @property
    def first_lists(self) -> tuple[Release | GroupList, ...]:
        """The lists that a table for the eye shows."""
        return self.lists

    @property
    def counted_in(self) -> str:
        """What counts and bounds are numbers of: votes, or the unit of their weights."""
        return str(self.parameters.get("weight_unit", "votes"))

    def __repr__(self) -> str:
        return "\n".join([*self._write_rows(_SHOWN), *self._mark(), f"{self._headline()}: {self.guarantee}."])

    def __str__(self) -> str:
        return "\n".join([*self._write_rows(), "", *self.caption()])

    def _repr_html_(self) -> str:
        columns = self._write_cells()
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        cells = ([f"<td>{html.escape(text)}</td>" for text in row] for row in zip(*columns.values(), strict=True))
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        # A caption of the table would be as narrow as the table.
        caption = "<br>".join(html.escape(line) for line in [*self.count_more(), *self.caption()])
        return f"<table><tr>{heads}</tr>{rows}</table><p>{caption}</p>"

    def caption(self) -> list[str]:
        """Say in sentences what is listed, what it promises, and how good it is. It names no item."""
        none = (
            "" if any(self.lists) or self._count_left_out() else " The votes are too few, or too close to each other."
        )
        promise = f"Guarantee{' of all lists together' if self.by else ''}: {self.guarantee}. {self.guarantee.in_words}"
        return [*self._mark(), f"{self._headline()}.{none}", promise, *self.remarks(), self._origin()]

    def remarks(self) -> list[str]:
        """Say in sentences which votes count, and how good the lists are.

        An assessed bound is left out where the public bound is at most as large. The public bound is always stated, so
        each bound that is stated is false with its stated probability at most.
        """
        found, counts = [*self._when(), self._whose_votes()], _find_first(self.lists, "counts")
        if self.mechanism not in MECHANISMS:
            found.append(f"{self.mechanism} is no mechanism of shortlist: its author states the guarantee.")
        if counts is not None:
            chance = counts.confidence and f"{float(counts.confidence):g}"
            interval = f": the count before noise lies from low to high with probability {chance}, for each item"
            what = "Counts are noisy" + (f" numbers of {self.counted_in}" if "weight_unit" in self.parameters else "")
            found.append(f"{what}{interval if chance else ''}.")
            if counts.others is not None and self.by:
                what = f"the {self.counted_in} for the other items of each group"
                found.append(f"The record has a noisy count of {what}, too.")
            elif counts.others is not None:
                ends = f"{counts.others_low:,} to {counts.others_high:,} with probability {chance}"
                others = write_count(counts.others, self.counted_in)
                found.append(f"All other items have {others} together (before noise, from {ends}).")
        people = _find_first(self.lists, "noisy_people")
        if people is not None:
            chance, least = f"{float(people.confidence):g}", self.parameters.get("min_people")
            interval = "the number before noise lies from people_low to people_high"
            without = f" Groups with fewer than {least:,} have no list." if isinstance(least, int) else ""
            found.append(f"Numbers of people are noisy: {interval} with probability {chance}, for each group.{without}")
        public = max(
            (each.error_bound for each in self.lists if each.error_bound), key=lambda each: each.votes, default=None
        )
        if public is not None:
            least = write_count(public.votes, self.counted_in)
            nothing = f" It says nothing about places whose true item has {least} or fewer: these may "
            of_each = " of each list" if self.by else ""
            found.append(f"Accuracy{of_each}: {public}." + (f"{nothing}hold random items." if public.votes else ""))
        return [*found, *self._assess()]

    def explain(self) -> str:
        """Write a paragraph to publish with the list or the lists, for readers who do not know differential privacy.

        >>> from shortlist import prepare
        >>> print(prepare({"apple": 310, "pear": 190}, k=1, epsilon=1, mechanism="pnf-joint").release().explain())
        This list of 1 of 2 items, most popular first, was made with differential privacy. Chance was added on ...
        """
        reveal, wrong = ("all lists together reveal", "a list") if self.by else ("the list reveals", "the list")
        sentences = [
            *self._mark(),
            self._introduce(),
            f"Chance was added on purpose, to limit what {reveal} about any one {self.guarantee.unit}.",
            self.guarantee.in_words,
            f"For the same reason {wrong} may be wrong: items with close counts may change places, and an item may be "
            "listed that does not belong there.",
            *self.remarks(),
            f"Made with shortlist {self.version} by {self.mechanism}: {self.guarantee}.",
        ]
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Describe all by values that JSON can hold, as the schema in docs says that the record names."""
        return record.encode(self)

    @overload
    def to_json(self) -> str: ...
    @overload
    def to_json(self, path: PathLike, *, force: bool = False) -> None: ...
    def to_json(self, path: PathLike | None = None, *, force: bool = False) -> str | None:
        """Write the whole record as JSON: to a file, or as text if no path is given."""
        text = record.write(self)
        if path is None:
            return text
        write_whole(path, lambda file: file.write(text.encode()), force=force)
        return None

    @classmethod
    def from_json(cls, source: PathLike) -> Self:
        """Read a record that `to_json` wrote, from a file or from text. Text that begins with `{` is the record itself.

        What is read is equal to what was written. A record that contradicts itself is refused.
        """
        if not isinstance(source, str | os.PathLike):
            raise ParameterError("`source` must be a path or JSON text", f"not {type(source).__name__}")
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        name = "the text" if is_text else _name_source(source)
        kinds: dict[str, Any] = {record.SCHEMA: Release, record.FAMILY: ReleaseFamily}
        kinds = {schema: kind for schema, kind in kinds.items() if issubclass(kind, cls)}
        read: Self = record.read(
            str(source) if is_text else read_text(Path(source), f"the record {name}"), kinds, source=name
        )
        return read

    @classmethod
    def from_parquet(cls, path: PathLike) -> Self:
        """Read the record that `to_parquet` wrote into the metadata of the file, under the key `shortlist.release`."""
        return cls.from_json(_read_parquet_record(path))

    def to_registry(self) -> str:
        """Write the entry of the public registry of deployments, as YAML. Comments mark what is to be filled in."""
        return registry.write(self, self._introduce(), " ".join([*self._when(), self._whose_votes()]))

    def to_csv(self, path: PathLike, *, force: bool = False) -> None:
        """Write groups, ranks and items as CSV. If it is not secure, a further column is false in every row."""
        write_whole(path, lambda file: file.write(write_csv(self).encode()), force=force)

    def to_parquet(self, path: PathLike, *, force: bool = False) -> None:
        """Write groups, ranks and items as Parquet, with the whole record as JSON in the file's metadata."""
        table, parquet = self.to_arrow(), import_optional("pyarrow.parquet")
        write_whole(path, lambda file: parquet.write_table(table, file), force=force)

    def to_arrow(self) -> Any:
        """Make a `pyarrow.Table` of groups, ranks and items, with the whole record as JSON in its metadata."""
        from shortlist.votes.values import make_arrow_column

        pa = import_optional("pyarrow", purpose="an Arrow table")
        columns: dict[str, Any] = make_columns(self)
        for name, column in columns.items():
            if name == "secure" or name in _NUMBERS:
                columns[name] = pa.array(column, pa.bool_() if name == "secure" else pa.int64())
            else:
                gaps = all(each is None for each in column)
                text = pa.nulls(len(column), pa.string())
                columns[name] = text if gaps else make_arrow_column(column, what=f"the column {name!r}")
        return pa.table(columns).replace_schema_metadata({METADATA: record.write(self)})

    def to_pandas(self) -> Any:
        """Make a `pandas.DataFrame` of groups, ranks and items, with the whole record as JSON in its `attrs`."""
        pandas = import_optional("pandas", extra="pandas", purpose="a frame of pandas")
        columns = make_columns(self)
        if not any(columns.values()):
            types = {**dict.fromkeys(_NUMBERS, "int64"), "secure": "bool"}
            columns = {name: pandas.Series([], dtype=types.get(name, "str")) for name in columns}
        for name in columns.keys() & _NUMBERS:
            if None in list(columns[name]):  # groups without a list have gaps
                columns[name] = pandas.array(columns[name], dtype="Int64")
        frame = pandas.DataFrame(columns)
        frame.attrs[METADATA] = record.write(self)
        return frame

    def to_polars(self) -> Any:
        """Make a `polars.DataFrame` of groups, ranks and items."""
        return import_optional("polars", extra="polars", purpose="a frame of Polars").from_arrow(self.to_arrow())

    def count_more(self) -> list[str]:
        """Say how many lists follow the first."""
        more = len(self.lists) - len(self.first_lists)
        return [f"… and {write_count(more, 'more lists')}"] if more else []

    def _write_rows(self, number: int | None = None) -> list[str]:
        """Write the first rows as aligned text, and how many follow."""
        cells = {name: column for name, column in self._write_cells().items() if name != "secure"}
        columns = {name: column[:number] for name, column in cells.items()}
        widths = {name: max(map(len, column), default=0) for name, column in columns.items()}
        pads = {name: str.rjust if name == "rank" else str.ljust for name in columns}
        rows = (zip(pads.values(), row, widths.values(), strict=True) for row in zip(*columns.values(), strict=True))
        written = ["  ".join(pad(text, width) for pad, text, width in row).rstrip() for row in rows]
        more = len(cells["item"]) - len(written)
        return [*written, *([f"… and {more:,} more"] if more and not self.by else self.count_more())]

    def _write_cells(self) -> dict[str, list[str]]:
        """Write the values of the first lists as text, column by column."""
        columns = make_columns(self, self.first_lists)
        return {name: ["" if each is None else escape(each) for each in column] for name, column in columns.items()}

    def _mark(self) -> list[str]:
        """Say that a release is not secure, before anything that it promises."""
        return [] if self.secure else [NOT_SECURE]

    def _count_left_out(self) -> int:
        """Count the groups with too few people, which have no list."""
        return sum(getattr(each, "is_left_out", False) for each in self.lists)

    def _headline(self) -> str:
        """Say how many items of how many, in which order, and by which mechanism."""
        chosen, order = self.parameters.get("chosen"), "" if self.ordered or not any(self.lists) else ", in no order"
        return f"{self._size()}{order}, by {self.mechanism}" + (f", which chose {chosen}" if chosen else "")

    @abstractmethod
    def _size(self) -> str:
        """Say how many items of how many are listed, in a headline."""

    @property
    def _order(self) -> str:
        return "most popular first" if self.ordered else "in no order"

    @abstractmethod
    def _introduce(self) -> str:
        """Say how many items of how many are listed, in a sentence."""

    @abstractmethod
    def _assess(self) -> list[str]:
        """Say what the data told about the error."""

    def _when(self) -> list[str]:
        """Say the votes of which days count, and what a unit is that lasts for a period."""
        span, unit = self.span, self.guarantee.unit
        if span is None:
            return []
        zone = "" if span.time_zone is None else f", {span.time_zone}"
        period = "" if self.period is None else f" ({self.period})"
        found = [f"Votes {span.in_words}{zone}{period} are counted."]
        if span.per is not None:
            whole, n = unit.removesuffix(f"-{span.per}"), span.units[-1] + 1
            found.append(
                f"A {unit} is the votes of one {whole} in one {span.per}. A {whole} with votes in {n:,} "
                f"{span.per}{'s' * (n > 1)} has {n:,} of them: the guarantee holds for each, and for the whole {whole} "
                f"epsilon and delta are up to {n:,} times as large."
            )
        return found

    def _whose_votes(self) -> str:
        """Say how much one person may have added, and who ensured it."""
        unit, cap, lists = (self.guarantee.unit, *map(self.parameters.get, ("votes_per_person", "groups_per_person")))
        limit = "" if lists is None else f", in at most {write_count(lists, 'groups')}"
        if not self.persons_counted:
            most = self.parameters.get("sensitivity", 1)
            votes = "" if cap is None else f", and has at most {write_count(cap)}"
            return f"The caller states that one {unit} adds at most {most}{limit}{votes}."
        about = "Counts and accuracy are about those: more people may have chosen an item."
        largest, quantile, how = self.parameters.get("max_weight"), self.parameters.get("cap_quantile"), ""
        if quantile is not None:
            share = f"about {float(100 * quantile):.0f} %"
            how = f" The limit on items was chosen so that {share} have no more, and chance had a part in it."
        if largest is not None:
            items = "" if cap is None else f", for at most {write_count(cap, 'items')}"
            most = f"Each {unit} adds at most {write_count(largest, self.counted_in)} to an item{items}{limit}"
            return f"{most}.{how} Counts and accuracy are about those: an item may have more."
        if cap is None:
            return f"Each {unit} is counted once for an item{limit}." + (f" {about}" if limit else "")
        return f"At most {write_count(cap)} of each {unit}{limit}{',' if limit else ''} are counted.{how} {about}"

    def _origin(self) -> str:
        """Say which release it is, when it was made, and what it was charged to."""
        made = f"Release {self.id[:12]}, {self.made:%Y-%m-%d %H:%M} UTC, by shortlist {self.version}"
        whose = f" for {self.population}" if self.population else ""
        charged = "" if self.charge is None else f", charge {self.charge:,} of ledger {(self.ledger or '')[:12]}{whose}"
        period = "" if self.period is None or self.span is not None else f" Period: {self.period}."
        return f"{made}{charged}.{period}" + ("" if self.note is None else f" Note: {self.note}.")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release(Publication, _Items):
    """The chosen items, best first, and what is promised about the persons who voted.

    A release is a sequence of its items. `domain_size` is the number of items in the public domain, or None without
    one. `labels` are further columns of the public domain. The other fields are those of `Publication`. Two releases
    are equal if all but `id` and `made` is equal.

    >>> from shortlist import prepare
    >>> release = prepare({"apple": 310, "pear": 190, "plum": 12}, k=2, epsilon=1, mechanism="joint").release()
    >>> len(release), release[0], "plum" in release
    (2, 'apple', False)
    >>> release
    1  apple
    2  pear
    The top 2 of 3 items, by joint: 1-DP (rho 0.125) for one person, add-remove.
    """

    items: tuple[Any, ...]
    domain_size: int | None
    counts: ReleasedCounts | None = None
    error_bound: ErrorBound | None = None
    assessment: Assessment | None = None
    labels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        Publication.__post_init__(self)
        _Items.__post_init__(self)

    def __hash__(self) -> int:
        return hash((self.items, self.mechanism, self.guarantee, self.domain_size, self.secure, self.version))

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of groups: one list has none."""
        return ()

    @property
    def lists(self) -> tuple[Release]:
        """The release itself: it is one list."""
        return (self,)

    @property
    def d(self) -> int | None:
        """`domain_size`, by its letter in the paper."""
        return self.domain_size

    def _size(self) -> str:
        k = self.parameters.get("k")
        asked = f" (up to {k:,} were asked for)" if isinstance(k, int) and len(self) < k else ""
        return (f"The top {self._count_items()}" if self.items else "No items") + asked

    def _introduce(self) -> str:
        listed = f"This list of {self._count_items()}, {self._order}, was made with differential privacy."
        none = "No item had enough votes to be listed. This was found with differential privacy."
        return listed if self.items else none

    def _count_items(self) -> str:
        of_all = "" if self.domain_size is None else f" of {self.domain_size:,}"
        return f"{len(self):,}{of_all} {'item' if (self.domain_size or len(self)) == 1 else 'items'}"

    def _assess(self) -> list[str]:
        public, assessed = self.error_bound, self.assessment
        if assessed is None:
            return []
        shorter = public is not None and public.votes <= assessed.bound.votes
        return [f"Assessment: {'no smaller bound follows from these data' if shorter else assessed}."]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReleaseFamily(Publication, Mapping[Any, GroupList]):
    """One list for each group, under one guarantee, which is that of all lists together.

    A family is a mapping from groups to lists, in the order of the public list of groups. A group is a value if `by`
    has one column, and else a tuple of values. The other fields are those of `Publication`. Two families are equal if
    all but `id` and `made` is equal.

    >>> import pyarrow, shortlist
    >>> votes = pyarrow.table({"user": range(300), "track": ["a"] * 200 + ["b"] * 100, "city": ["Rome", "Oslo"] * 150})
    >>> family = shortlist.select(
    ...     votes, person="user", item="track", domain=["a", "b", "c"], by="city", groups=["Oslo", "Rome"],
    ...     groups_per_person=1, k=1, epsilon=1, mechanism="joint")
    >>> family["Oslo"].items, list(family)
    (('a',), ['Oslo', 'Rome'])
    >>> family
    Oslo  1  a
    Rome  1  a
    2 lists by city: the top 1 of 3 items in each, by joint: 1-DP (rho 0.125) for one person, add-remove.
    """

    one_list = GroupList  # without an annotation it is no field

    by: tuple[str, ...]
    lists: tuple[GroupList, ...]
    _places: Mapping[Any, GroupList] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        Publication.__post_init__(self)
        object.__setattr__(self, "by", tuple(self.by))
        object.__setattr__(self, "lists", tuple(self.lists))
        if any(len(each.group) != len(self.by) for each in self.lists):
            raise ParameterError("each group of a family must have one value for each column of `by`")
        keys = (each.group[0] if len(self.by) == 1 else each.group for each in self.lists)
        object.__setattr__(self, "_places", dict(zip(keys, self.lists, strict=True)))
        if not self.lists or len(self._places) < len(self.lists):
            raise ParameterError("a family must have one list for each of some different groups")

    def __hash__(self) -> int:
        return hash((self.by, self.lists, self.mechanism, self.guarantee, self.secure, self.version))

    def __len__(self) -> int:
        return len(self.lists)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __getitem__(self, group: Any) -> GroupList:
        return self._places[group]

    @property
    def first_lists(self) -> tuple[GroupList, ...]:
        """The first lists, with about as many rows as a screen has lines."""
        ends = itertools.accumulate(len(each) or 1 for each in self.lists)
        return self.lists[: max(1, sum(end <= _SHOWN for end in ends))]

    def _size(self) -> str:
        by = f"{self._count_lists()} by {' and '.join(self.by)}{self._write_left_out()}"
        return f"{by}: {self._count_items()} in each{self._count_empty()}"

    def _introduce(self) -> str:
        by = f"{self._count_lists()} by {' and '.join(self.by)}{self._write_left_out()}"
        listed = f"These {by}, each of {self._count_items()}, {self._order}"
        return f"{listed}, were made with differential privacy."

    def _count_lists(self) -> str:
        return write_count(len(self) - self._count_left_out(), "lists")

    def _write_left_out(self) -> str:
        number = self._count_left_out()
        return f" ({number:,} of {len(self):,} groups {'has' if number == 1 else 'have'} too few people)" * bool(number)

    def _count_items(self) -> str:
        sizes = [each.domain_size for each in self.lists if each.domain_size is not None]
        k, fixed = self.parameters.get("k"), self.up_to is None and "at_least" not in self.parameters
        of_all = f" of {write_range(sizes)}" if sizes else ""
        return f"{'the top' if fixed else 'up to'} {k}{of_all} {'item' if (max(sizes, default=k)) == 1 else 'items'}"

    def _count_empty(self) -> str:
        empty = sum(not each for each in self.lists) - self._count_left_out()
        return f" ({empty:,} {'is' if empty == 1 else 'are'} empty)" if empty else ""

    def _assess(self) -> list[str]:
        found, marked = [], sum(each.remark == MAY_BE_RANDOM for each in self.lists)
        public = [each.error_bound.votes for each in self.lists if each.error_bound]
        assessed = [each.assessment.bound.votes for each in self.lists if each.assessment]
        if public and min(public) < max(public):
            found.append(f"The lists have bounds of their own, of {write_range(public)} {self.counted_in}.")
        if assessed:
            found.append(f"Assessment: on these data, the bounds are {write_range(assessed)} {self.counted_in}.")
        if public or assessed:
            found.append("Each bound holds with its probability by itself, not all at once.")
        if marked:
            most = "what the people there can add" if "weight_unit" in self.parameters else "the people there"
            found.append(
                f"{marked:,} of {self._count_lists()} {MAY_BE_RANDOM}: the bound is at least {most}"
                f"{', by the noisy number' if all(each.people is None for each in self.lists) else ''}."
            )
        return found


def write_range(numbers: Sequence[int]) -> str:
    """Write the smallest and the largest number, or the one that there is.

    >>> write_range([2000, 3]), write_range([7, 7])
    ('3 to 2,000', '7')
    """
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _find_first(lists: Sequence[Release | GroupList], name: str) -> Any:
    """Find the first value of a field that lists may lack: groups with too few people have no list."""
    return next((found for each in lists if (found := getattr(each, name, None)) is not None), None)


def make_columns(release: Publication, lists: Sequence[Release | GroupList] | None = None) -> dict[str, list[Any]]:
    """Lay lists out as columns: groups, rank, item, labels, noisy counts, noisy people and remarks if there are any.

    Without order there are no ranks. `secure` is a column if it is false. A group without items has one row if its
    noisy number of people is known: rank and item are gaps there. Text that UTF-8 cannot hold is written with escapes.
    The record keeps it.
    """
    shown = release.lists if lists is None else lists

    def join(find: Callable[[Any], Iterable[Any]]) -> list[Any]:
        values = itertools.chain.from_iterable(list(find(each)) or [None] * count_rows(each) for each in shown)
        return [escape_surrogates(each) if isinstance(each, str) else each for each in values]

    def repeat(find: Callable[[Any], Any]) -> list[Any]:
        return join(lambda each: [find(each)] * count_rows(each))

    columns: dict[str, list[Any]] = {}
    for place, name in enumerate(release.by):
        columns[name] = repeat(lambda each, place=place: each.group[place])  # type: ignore[misc]
    if release.ordered:
        columns["rank"] = join(lambda each: range(1, len(each) + 1))
    columns["item"] = join(lambda each: each.items)
    for name in release.lists[0].labels:
        columns[name] = join(lambda each, name=name: each.labels[name])  # type: ignore[misc]
    counts = _find_first(release.lists, "counts")
    if counts is not None:
        columns["count"] = join(lambda each: each.counts.values if each.counts else ())
        if counts.low is not None:
            columns["low"] = join(lambda each: each.counts.low if each.counts else ())
            columns["high"] = join(lambda each: each.counts.high if each.counts else ())
    if _find_first(release.lists, "noisy_people") is not None:
        for name, end in (("people", "value"), ("people_low", "low"), ("people_high", "high")):
            columns[name] = repeat(lambda each, end=end: getattr(each.noisy_people, end))  # type: ignore[misc]
    if any(getattr(each, "remark", None) for each in release.lists):
        columns["remark"] = repeat(lambda each: each.remark)
    if not release.secure:
        columns["secure"] = repeat(lambda each: False)
    return columns


def count_rows(listed: Release | GroupList) -> int:
    """Count the rows that a list has in a table: one for each item, or one for a group without any."""
    return len(listed) or int(getattr(listed, "noisy_people", None) is not None)


def write_csv(release: Publication) -> str:
    """Write the columns as CSV. Text is quoted, so that the empty text differs from a missing one."""
    columns = make_columns(release)
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_write_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _write_cell(value: Any) -> Any:
    """Write a value as CSV holds it: numbers stay numbers, bytes become base64, dates and times ISO 8601."""
    if isinstance(value, bool):
        return str(value).lower()
    written = value if isinstance(value, int | Decimal) else record.encode_item(value)
    return next(iter(written.values())) if isinstance(written, dict) else written


class UsefulnessWarning(UserWarning):
    """A list may be useless, or a guarantee may promise almost nothing. The release is made all the same."""


def show_warning(text: str, category: type[Warning], *, stacklevel: int) -> None:
    """Warn. Where warnings are errors they are shown all the same, so that a release that is made is not lost."""
    try:
        warnings.warn(text, category, stacklevel=stacklevel)
    except category:
        with warnings.catch_warnings():
            warnings.simplefilter("always", category)
            warnings.warn(text, category, stacklevel=stacklevel)


def find_warnings(release: Publication, people: int | None) -> list[str]:
    """Say what the owner of the data should know about a release that says little, or protects little.

    It depends on public numbers and on what is released, so a warning tells nobody more than the release does.

    >>> from shortlist import prepare
    >>> release = prepare({"apple": 310, "pear": 190, "plum": 12}, k=2, epsilon="0.01", mechanism="joint").release()
    >>> find_warnings(release, people=400)
    ['the bound on the error is 957 votes, and there are 400 people: the list may be almost random']
    """
    found = []
    if release.guarantee.epsilon > _LARGE_EPSILON:
        found.append(f"an epsilon above {_LARGE_EPSILON} promises almost nothing; 1 is common")
    delta = release.guarantee.delta
    if people is not None and delta * people > _LARGE_RISK:
        found.append(f"a delta of {float(delta):g} is not far below 1/{people:,}, one divided by the number of people")
    elif people is None and delta > _LARGE_DELTA:
        found.append(f"a delta of {float(delta):g} is large: it must be far below one divided by the number of people")
    if not isinstance(release, ReleaseFamily):
        return [*found, *itertools.chain(*(_judge_bound(each, release, people) for each in release.lists))]
    judged = {
        each: find_least_bound(each.error_bound, each.assessment)
        for each in release.lists
        if _judge_bound(each, release, _find_people(each, people))
    }
    if judged:
        known = sum(each.remark is not None for each in judged)
        most = (
            "what the people of the group can add" if "weight_unit" in release.parameters else "the people of the group"
        )
        of_people = f"; in {known:,} of them it is at least {most}" if known else ""
        found.append(
            f"{len(judged):,} of {len(release.lists):,} lists may hold random items: the bound on the error is "
            f"{write_range([*judged.values()])} {release.counted_in}{of_people}"
        )
    return found


def _find_people(listed: GroupList, people: int | None) -> int | None:
    """Find how many people a group has: by the public list of groups, else by its noisy number, else at most all."""
    if listed.people is not None or listed.noisy_people is None:
        return people if listed.people is None else listed.people
    return max(0, listed.noisy_people.value)


def _judge_bound(listed: Release | GroupList, release: Publication, people: int | None) -> list[str]:
    """Compare the bound on the error with what public numbers and the noisy counts say about the votes of a place."""
    write, parameters = partial(write_count, unit=release.counted_in), release.parameters
    least, number = find_least_bound(listed.error_bound, listed.assessment), len(listed)
    if not least or not number:
        return []
    start, found = f"the bound on the error is {write(least)}, and", []
    if people is not None:
        cap, largest = parameters.get("votes_per_person"), parameters.get("max_weight", 1)
        most = people * parameters.get("sensitivity", largest)
        if least >= most:
            each = f", with at most {write(largest)} each for an item" if "max_weight" in parameters else ""
            found.append(f"{start} there are {people:,} people{each}: the list may be almost random")
        # The k largest counts sum to at most all votes. So the last of them is at most a k-th of all votes.
        elif cap is not None and least >= (last := people * cap * largest // number):
            found.append(
                f"{start} with at most {write(cap * largest)} of each of {people:,} people, the true item at place "
                f"{number:,} has at most {write(last)}: the last places may hold random items"
            )
    if listed.counts is not None:
        largest = max(listed.counts.high or listed.counts.values)
        below = sum(each < least for each in listed.counts.values)
        if least > largest:
            found.append(f"{start} no count is above {largest:,}")
        elif below:
            found.append(f"{start} {below:,} of {number:,} noisy counts are below it: these may be random items")
    elif not found and least > _LARGE_BOUND * parameters.get("max_weight", 1):
        found.append(f"the bound on the error is {write(least)}: the list says little if the counts are below that")
    return found


def read_text(path: Path, what: str) -> str:
    """Read a file, which errors call `what`. What is not a text is empty."""
    try:
        # A pipe may never end, and a device may never stop.
        text = path.read_text(encoding="utf-8") if stat.S_ISREG(os.stat(path).st_mode) else None
    except OSError as error:
        raise DataError(f"{what} must be readable", f"{error.strerror}") from None
    except ValueError:
        return ""
    if text is None:
        raise DataError(f"{what} must be a file", "it is a folder, a pipe or a device")
    return text


def _read_parquet_record(path: PathLike) -> str:
    """Read the JSON of a record from the metadata of a Parquet file."""
    name, parquet = _name_source(path), import_optional("pyarrow.parquet", purpose="a Parquet file")
    try:
        found = (parquet.read_schema(path).metadata or {}).get(METADATA.encode())
    except (OSError, ValueError, TypeError):
        raise DataError(f"{name} must be a Parquet file that can be read") from None
    if found is None:
        raise DataError(f"{name} must hold the record of a release", "its metadata has none")
    return str(found.decode())


def _name_source(path: PathLike) -> str:
    """Name a file in an error. A text longer than any file name is probably a record, which errors do not repeat."""
    text = str(path)
    return repr(text) if len(text) <= _LONGEST_NAME else "of that name"
