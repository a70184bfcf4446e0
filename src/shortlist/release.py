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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from shortlist import caption, record, registry
from shortlist.atomic_files import PathLike, write_whole
from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import SystemBits
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, NoisyPeople, ReleasedCounts
from shortlist.periods import Span
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import write_count
from shortlist.safe_text import escape, escape_surrogates
from shortlist.terms import TOO_FEW_PEOPLE
from shortlist.version import __version__
from shortlist.votes.failures import hide_secrets
from shortlist.votes.libraries import import_optional

METADATA = "shortlist.release"
"""Under this name, Parquet and Arrow metadata and pandas attributes hold the whole record as JSON."""

_LONGEST_NAME = 255
_SHOWN = 20
"""How many items `repr` shows, and about how many rows of a family a table shows."""


def read_clock() -> datetime:
    """Read the time of the clock in UTC, in whole seconds. It is shown to readers. No guarantee depends on it."""
    return datetime.now(UTC).replace(microsecond=0)


def draw_identifier() -> str:
    """Draw an identifier that nothing else has."""
    return SystemBits().draw(16).hex()


class _Value:
    """A value whose sequences and mappings cannot be changed. It can be copied and pickled all the same."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            if each.init:
                object.__setattr__(self, each.name, _freeze(getattr(self, each.name)))

    def __reduce__(self) -> tuple[Any, ...]:
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]
        plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in given.items()}
        return partial(type(self), **plain), ()


def _freeze(value: Any) -> Any:
    """Make a value that cannot be changed, of plain Python values."""
    if isinstance(value, list | tuple):
        return tuple(map(_freeze, value))
    if isinstance(value, Mapping):
        return MappingProxyType({name: _freeze(each) for name, each in value.items()})
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, kw_only=True, repr=False)
class _Items(_Value, Sequence[Any]):
    """What every list has: the chosen items, best first, and what may be published about them."""

    __slots__ = ()

    items: tuple[Any, ...]
    domain_size: int | None
    counts: ReleasedCounts | None = None
    error_bound: ErrorBound | None = None
    assessment: Assessment | None = None
    labels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

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
class Publication(_Value):
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
    def own_columns(self) -> Mapping[str, str]:
        """The columns that tables have by themselves, and their types. No label is called like them."""
        return record.FAMILY_COLUMNS if self.by else record.COLUMNS

    @property
    def counted_in(self) -> str:
        """What counts and bounds are numbers of: votes, or the unit of their weights."""
        return str(self.parameters.get("weight_unit", "votes"))

    def __repr__(self) -> str:
        return "\n".join(
            [*self._write_rows(_SHOWN), *caption.mark(self), f"{caption.write_headline(self)}: {self.guarantee}."]
        )

    def __str__(self) -> str:
        return "\n".join([*self._write_rows(), "", *self.caption()])

    def _repr_html_(self) -> str:
        columns = self._write_cells()
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        cells = ([f"<td>{html.escape(text)}</td>" for text in row] for row in zip(*columns.values(), strict=True))
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        # A caption of the table would be as narrow as the table.
        lines = "<br>".join(html.escape(line) for line in [*self.count_more(), *self.caption()])
        return f"<table><tr>{heads}</tr>{rows}</table><p>{lines}</p>"

    def caption(self) -> list[str]:
        """Say in sentences what is listed, what it promises, and how good it is. It names no item."""
        return caption.write_caption(self)

    def remarks(self) -> list[str]:
        """Say in sentences which votes count, and how good the lists are."""
        return caption.write_remarks(self)

    def explain(self) -> str:
        """Write a paragraph to publish with the list or the lists, for readers who do not know differential privacy.

        >>> from shortlist import prepare
        >>> print(prepare({"apple": 310, "pear": 190}, k=1, epsilon=1, mechanism="pnf-joint").release().explain())
        This list of 1 of 2 items, most popular first, was made with differential privacy. Chance was added on ...
        """
        return caption.explain(self)

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
        write_whole(path, text, force=force)
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
        return registry.write(self)

    def to_csv(self, path: PathLike, *, force: bool = False) -> None:
        """Write groups, ranks and items as CSV. If it is not secure, a further column is false in every row."""
        write_whole(path, write_csv(self), force=force)

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
            kind = self.own_columns.get(name, "str")
            typed = kind != "str" or all(each is None for each in column)
            columns[name] = pa.array(column, kind) if typed else make_arrow_column(column, what=f"the column {name!r}")
        return pa.table(columns).replace_schema_metadata({METADATA: record.write(self)})

    def to_pandas(self) -> Any:
        """Make a `pandas.DataFrame` of groups, ranks and items, with the whole record as JSON in its `attrs`."""
        pandas = import_optional("pandas", extra="pandas", purpose="a frame of pandas")
        columns: dict[str, Any] = make_columns(self)
        for name, column in columns.items():
            kind = self.own_columns.get(name, "str")
            if not column:
                columns[name] = pandas.Series([], dtype=kind)
            elif kind == "int64" and None in column:  # groups without a list have gaps
                columns[name] = pandas.array(column, dtype="Int64")
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
        shown = {name: column[:number] for name, column in cells.items()}
        rows = len(cells["item"])
        if rows and shown.keys() - {*self.by, "rank", "item"}:  # a number does not show what it is
            shown = {name: [name, *column] for name, column in shown.items()}
        widths = [max(map(len, column), default=0) for column in shown.values()]
        forms = [f"{'>' if name == 'rank' else '<'}{width}" for name, width in zip(shown, widths, strict=True)]
        written = ["  ".join(map(format, row, forms)).rstrip() for row in zip(*shown.values(), strict=True)]
        more = 0 if number is None else max(0, rows - number)
        return [*written, *([f"… and {more:,} more"] if more and not self.by else self.count_more())]

    def _write_cells(self) -> dict[str, list[str]]:
        """Write the values of the first lists as text, column by column."""
        columns = make_columns(self, self.first_lists)
        return {name: ["" if each is None else escape(each) for each in column] for name, column in columns.items()}


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

    # A release has no groups. Without annotations these are no fields.
    by, group, people, noisy_people, remark, is_left_out = (), (), None, None, None, False

    def __hash__(self) -> int:
        return hash((self.items, self.mechanism, self.guarantee, self.domain_size, self.secure, self.version))

    @property
    def lists(self) -> tuple[Release]:
        """The release itself: it is one list."""
        return (self,)

    @property
    def d(self) -> int | None:
        """`domain_size`, by its letter in the paper."""
        return self.domain_size


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
        _Value.__post_init__(self)
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


def make_columns(release: Publication, lists: Sequence[Release | GroupList] | None = None) -> dict[str, list[Any]]:
    """Lay lists out as columns: groups, rank, item, labels, noisy counts, noisy people and remarks if there are any.

    A group without items has one row if its noisy number of people is known: rank and item are gaps there. Text that
    UTF-8 cannot hold is written with escapes. The record keeps it.
    """
    laid_out = [_lay_out(release, each) for each in release.lists]
    columns: dict[str, list[Any]] = {
        name: [] for name in laid_out[0] if any(each[name] is not None for each in laid_out)
    }
    for listed, values in zip(release.lists if lists is None else lists, laid_out, strict=False):
        rows = len(listed) or int(listed.noisy_people is not None)
        for name, column in columns.items():
            found = values[name] if isinstance(values[name], tuple | range) else [values[name]] * rows
            column += [escape_surrogates(each) if isinstance(each, str) else each for each in found or [None] * rows]
    return columns


def _lay_out(release: Publication, listed: Release | GroupList) -> dict[str, Any]:
    """Say what one list has in each column: a value for each item, or one for all rows. None is in no column."""
    counts, people = listed.counts, listed.noisy_people
    found: dict[str, Any] = {
        **dict(zip(release.by, listed.group, strict=True)),
        "rank": range(1, len(listed) + 1) if release.ordered else None,
        "item": listed.items,
        **listed.labels,
        "count": counts and counts.values,
        "low": counts and counts.low,
        "high": counts and counts.high,
    }
    if release.by:
        found |= {"people": people and people.value, "people_low": people and people.low}
        found |= {"people_high": people and people.high, "remark": listed.remark}
    return {**found, "secure": None if release.secure else False}


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
    except (OSError, ValueError, TypeError, ImportError):
        raise DataError(f"{name} must be a Parquet file that can be read") from None
    if found is None:
        raise DataError(f"{name} must hold the record of a release", "its metadata has none")
    return str(found.decode())


def _name_source(path: PathLike) -> str:
    """Name a file in an error. A text longer than any file name is probably a record, which errors do not repeat."""
    text = str(path)
    return repr(hide_secrets(text)) if len(text) <= _LONGEST_NAME else "of that name"
