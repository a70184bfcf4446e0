"""A release: everything that may be published, and nothing else.

The items, their noisy counts, the assessment and the choice of `auto` depend on the data, and the guarantee covers
them. The rest is public before the votes are read.
"""

from __future__ import annotations

import csv
import html
import io
import os
import stat
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

import numpy as np

from shortlist import record
from shortlist.atomic_files import write_whole
from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import SystemBits
from shortlist.mechanisms import MECHANISMS
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, ReleasedCounts, write_votes
from shortlist.privacy import Guarantee
from shortlist.safe_text import escape, escape_surrogates
from shortlist.version import __version__
from shortlist.votes.libraries import import_optional

PathLike = str | os.PathLike[str]

METADATA = "shortlist.release"
"""Under this name, Parquet and Arrow metadata and pandas attributes hold the whole record as JSON."""
NOT_SECURE = "NOT SECURE: made with repeatable randomness, for tests only."

_LONGEST_NAME = 255
_SHOWN = 20
"""How many items `repr` shows."""
_LARGE_EPSILON = 20
_LARGE_RISK = Fraction(1, 10)
"""A delta times the number of people above this is remarked on: delta must be far below 1/people."""
_LARGE_DELTA = Fraction(1, 1000)
"""Without a number of people, a delta above this is remarked on."""
_LARGE_BOUND = 10_000
"""A bound of more votes than this is remarked on, where neither people nor counts say more about it."""


def read_clock() -> datetime:
    """Read the time of the clock in UTC, in whole seconds. It is shown to readers, and no decision depends on it."""
    return datetime.now(UTC).replace(microsecond=0)


def draw_identifier() -> str:
    """Draw an identifier that nothing else has."""
    return SystemBits().draw(16).hex()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release(Sequence[Any]):
    """The chosen items, best first, and what is promised about the persons who voted.

    A release is a sequence of its items. `parameters` are the public parameters of the mechanism. `domain_size` is
    the number of items in the public domain, or None without one. `secure` is true if the randomness came from the
    operating system. The guarantee holds only then. With `persons_counted`, this library counted different persons.
    Otherwise the caller stated how much one person adds. `ordered` is false if the order of the items means nothing.
    `up_to` is how many items there are at most, where the mechanism may choose fewer or none, and None where the number
    is fixed. `labels` are further columns of the public domain.

    `id` is random, so no two releases have the same record. `made` is when the release was charged or asked for, in
    UTC. `charge` is its number in the ledger with the identifier `ledger`. `note` and `period` are what the caller
    wrote. Two releases are equal if all but `id` and `made` is equal.

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
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    domain_size: int | None
    secure: bool
    persons_counted: bool = False
    version: str = __version__
    ordered: bool = True
    up_to: int | None = None
    counts: ReleasedCounts | None = None
    error_bound: ErrorBound | None = None
    assessment: Assessment | None = None
    labels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    note: str | None = None
    period: str | None = None
    population: str | None = None
    ledger: str | None = None
    charge: int | None = None
    id: str = field(default_factory=draw_identifier, compare=False)
    made: datetime = field(default_factory=read_clock, compare=False)

    def __post_init__(self) -> None:
        plain = tuple(item.item() if isinstance(item, np.generic) else item for item in self.items)
        labels = {name: tuple(column) for name, column in self.labels.items()}
        object.__setattr__(self, "items", plain)
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "labels", MappingProxyType(labels))

    def __hash__(self) -> int:
        return hash((self.items, self.mechanism, self.guarantee, self.domain_size, self.secure, self.version))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return partial(Release, **{**values, "parameters": dict(self.parameters), "labels": dict(self.labels)}), ()

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

    def __repr__(self) -> str:
        more = [f"… and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return "\n".join([*self._write_rows(_SHOWN), *more, *self._mark(), f"{self._headline()}: {self.guarantee}."])

    def __str__(self) -> str:
        return "\n".join([*self._write_rows(len(self)), "", *self.caption()])

    def _repr_html_(self) -> str:
        columns = self._write_cells(len(self))
        heads = "".join(f"<th>{name}</th>" for name in columns)
        cells = ([f"<td>{html.escape(text)}</td>" for text in row] for row in zip(*columns.values(), strict=True))
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        # A caption of the table would be as narrow as the table.
        caption = "<br>".join(html.escape(line) for line in self.caption())
        return f"<table><tr>{heads}</tr>{rows}</table><p>{caption}</p>"

    def caption(self) -> list[str]:
        """Say in sentences what the list is, what it promises, and how good it is. It names no item."""
        none = "" if self.items else " The votes are too few, or too close to each other."
        promise = f"Guarantee: {self.guarantee}. {self.guarantee.in_words}"
        return [*self._mark(), f"{self._headline()}.{none}", promise, *self.remarks(), self._origin()]

    def remarks(self) -> list[str]:
        """Say in sentences which votes count, and how good the list is.

        An assessed bound is left out where the public bound is at most as large. The public bound is always stated, so
        each bound that is stated is false with its stated probability at most.
        """
        found, public, assessed = [self._whose_votes()], self.error_bound, self.assessment
        if self.mechanism not in MECHANISMS:
            found.append(f"{self.mechanism} is no mechanism of shortlist: its author states the guarantee.")
        if self.counts is not None:
            chance = self.counts.confidence and f"{float(self.counts.confidence):g}"
            interval = f": the count before noise lies from low to high with probability {chance}, for each item"
            found.append(f"Counts are noisy{interval if chance else ''}.")
        if public is not None:
            nothing = f" It says nothing about places whose true item has {public.votes:,} votes or fewer: these may "
            found.append(f"Accuracy: {public}." + (f"{nothing}hold random items." if public.votes else ""))
        if assessed is not None:
            shorter = public is not None and public.votes <= assessed.bound.votes
            found.append(f"Assessment: {'no smaller bound follows from these data' if shorter else assessed}.")
        return found

    def explain(self) -> str:
        """Write a paragraph to publish with the list, for readers who do not know differential privacy.

        >>> from shortlist import prepare
        >>> print(prepare({"apple": 310, "pear": 190}, k=1, epsilon=1, mechanism="pnf-joint").release().explain())
        This list of 1 of 2 items, most popular first, was made with differential privacy. Chance was added on ...
        """
        order = "most popular first" if self.ordered else "in no order"
        listed = f"This list of {self._size()}, {order}, was made with differential privacy."
        none = "No item had enough votes to be listed. This was found with differential privacy."
        sentences = [
            *self._mark(),
            listed if self.items else none,
            f"Chance was added on purpose, to limit what the list reveals about any one {self.guarantee.unit}.",
            self.guarantee.in_words,
            "For the same reason the list may be wrong: items with close counts may change places, and an item may be "
            "listed that does not belong there.",
            *self.remarks(),
            f"Made with shortlist {self.version} by {self.mechanism}: {self.guarantee}.",
        ]
        return " ".join(sentences)

    @property
    def d(self) -> int | None:
        """`domain_size`, by its letter in the paper."""
        return self.domain_size

    def to_dict(self) -> dict[str, Any]:
        """Describe the release by values that JSON can hold, as docs/release.schema.json says."""
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
    def from_json(cls, source: PathLike) -> Release:
        """Read a record that `to_json` wrote, from a file or from text. Text that begins with `{` is the record itself.

        The release is equal to the one that was written. A record that contradicts itself is refused.
        """
        if not isinstance(source, str | os.PathLike):
            raise ParameterError("`source` must be a path or JSON text", f"not {type(source).__name__}")
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        name = "the text" if is_text else _name_source(source)
        return record.read(str(source) if is_text else _read_file(Path(source)), cls, source=name)

    @classmethod
    def from_parquet(cls, path: PathLike) -> Release:
        """Read the record that `to_parquet` wrote into the metadata of the file, under the key `shortlist.release`."""
        return cls.from_json(_read_parquet_record(path))

    def to_csv(self, path: PathLike, *, force: bool = False) -> None:
        """Write ranks and items as CSV. If the release is not secure, a further column is false in every row."""
        write_whole(path, lambda file: file.write(write_csv(self).encode()), force=force)

    def to_parquet(self, path: PathLike, *, force: bool = False) -> None:
        """Write ranks and items as Parquet, with the whole record as JSON in the file's metadata."""
        table, parquet = self.to_arrow(), import_optional("pyarrow.parquet")
        write_whole(path, lambda file: parquet.write_table(table, file), force=force)

    def to_arrow(self) -> Any:
        """Make a `pyarrow.Table` of ranks and items, with the whole record as JSON in its metadata."""
        from shortlist.votes.values import make_arrow_column

        pa = import_optional("pyarrow", purpose="an Arrow table")
        columns: dict[str, Any] = make_columns(self)
        for name, column in columns.items():
            if name == "item" or name in self.labels:
                text = pa.array([], pa.string())
                columns[name] = make_arrow_column(column, what=f"the column {name!r}") if self.items else text
            else:
                columns[name] = pa.array(column, pa.bool_() if name == "secure" else pa.int64())
        return pa.table(columns).replace_schema_metadata({METADATA: record.write(self)})

    def to_pandas(self) -> Any:
        """Make a `pandas.DataFrame` of ranks and items, with the whole record as JSON in its `attrs`."""
        pandas, columns = import_module("pandas"), make_columns(self)
        if not self.items:
            types = {"item": "str", "secure": "bool", **dict.fromkeys(self.labels, "str")}
            columns = {name: pandas.Series([], dtype=types.get(name, "int64")) for name in columns}
        frame = pandas.DataFrame(columns)
        frame.attrs[METADATA] = record.write(self)
        return frame

    def to_polars(self) -> Any:
        """Make a `polars.DataFrame` of ranks and items."""
        return import_module("polars").from_arrow(self.to_arrow())

    def _write_rows(self, number: int) -> list[str]:
        """Write the first rows as aligned text."""
        columns = [column for name, column in self._write_cells(number).items() if name != "secure"]
        widths = [max(map(len, column), default=0) for column in columns]
        pads = (str.rjust if self.ordered else str.ljust, *[str.ljust] * len(widths))
        rows = (zip(pads, row, widths, strict=False) for row in zip(*columns, strict=True))
        return ["  ".join(pad(text, width) for pad, text, width in row).rstrip() for row in rows]

    def _write_cells(self, number: int) -> dict[str, list[str]]:
        """Write the values of the first rows as text, column by column."""
        columns = make_columns(self)
        return {name: ["" if each is None else escape(each) for each in columns[name][:number]] for name in columns}

    def _mark(self) -> list[str]:
        """Say that a release is not secure, before anything that it promises."""
        return [] if self.secure else [NOT_SECURE]

    def _size(self) -> str:
        of_all = "" if self.domain_size is None else f" of {self.domain_size:,}"
        return f"{len(self):,}{of_all} {'item' if (self.domain_size or len(self)) == 1 else 'items'}"

    def _headline(self) -> str:
        """Say how many items of how many, in which order, and by which mechanism."""
        k, chosen = self.parameters.get("k"), self.parameters.get("chosen")
        top = f"The top {self._size()}" if self.items else "No items"
        asked = f" (up to {k:,} were asked for)" if isinstance(k, int) and len(self) < k else ""
        order = ", in no order" if self.items and not self.ordered else ""
        return f"{top}{asked}{order}, by {self.mechanism}" + (f", which chose {chosen}" if chosen else "")

    def _whose_votes(self) -> str:
        """Say how much one person may have added, and who ensured it."""
        unit, cap = self.guarantee.unit, self.parameters.get("votes_per_person")
        if not self.persons_counted:
            votes = "" if cap is None else f", and has at most {write_votes(cap)}"
            return f"The caller states that one {unit} adds at most {self.parameters.get('sensitivity', 1)}{votes}."
        if cap is None:
            return f"Each {unit} is counted once for an item."
        return (
            f"At most {write_votes(cap)} of each {unit} are counted. Counts and accuracy are about those: more people "
            "may have chosen an item."
        )

    def _origin(self) -> str:
        """Say which release it is, when it was made, and what it was charged to."""
        made = f"Release {self.id[:12]}, {self.made:%Y-%m-%d %H:%M} UTC, by shortlist {self.version}"
        whose = f" for {self.population}" if self.population else ""
        charged = "" if self.charge is None else f", charge {self.charge:,} of ledger {(self.ledger or '')[:12]}{whose}"
        period = "" if self.period is None else f" Period: {self.period}."
        return f"{made}{charged}.{period}" + ("" if self.note is None else f" Note: {self.note}.")


def make_columns(release: Release) -> dict[str, list[Any]]:
    """Lay a release out as columns: rank, item, labels and noisy counts if there are any, and `secure` if it is false.

    An unordered release has no ranks. Text that UTF-8 cannot hold is written with escapes. The record keeps it.
    """
    columns: dict[str, list[Any]] = {"rank": list(range(1, len(release) + 1))} if release.ordered else {}
    for name, values in {"item": release.items, **release.labels}.items():
        columns[name] = [escape_surrogates(each) if isinstance(each, str) else each for each in values]
    if release.counts is not None:
        columns["count"] = list(release.counts.values)
        if release.counts.low is not None and release.counts.high is not None:
            columns["low"], columns["high"] = list(release.counts.low), list(release.counts.high)
    if not release.secure:
        columns["secure"] = [False] * len(release)
    return columns


def write_csv(release: Release) -> str:
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


def find_warnings(release: Release, people: int | None) -> list[str]:
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
    return [*found, *_judge_bound(release, people)]


def _judge_bound(release: Release, people: int | None) -> list[str]:
    """Compare the bound on the error with what public numbers and the noisy counts say about the votes of a place."""
    bounds = [each for each in (release.error_bound, release.assessment and release.assessment.bound) if each]
    least = min((bound.votes for bound in bounds), default=0)
    if not least or not release.items:
        return []
    start, found = f"the bound on the error is {least:,} votes, and", []
    if people is not None:
        cap, most = release.parameters.get("votes_per_person"), people * release.parameters.get("sensitivity", 1)
        if least >= most:
            found.append(f"{start} there are {people:,} people: the list may be almost random")
        # The k largest counts sum to at most all votes. So the last of them is at most a k-th of all votes.
        elif cap is not None and least >= (last := people * cap // len(release)):
            found.append(
                f"{start} with at most {write_votes(cap)} of each of {people:,} people, the true item at place "
                f"{len(release):,} has at most {write_votes(last)}: the last places may hold random items"
            )
    if release.counts is not None:
        largest = max(release.counts.high or release.counts.values)
        below = sum(each < least for each in release.counts.values)
        if least > largest:
            found.append(f"{start} no count is above {largest:,}")
        elif below:
            found.append(f"{start} {below:,} of {len(release):,} noisy counts are below it: these may be random items")
    elif not found and least > _LARGE_BOUND:
        found.append(f"the bound on the error is {least:,} votes: the list says little if the counts are below that")
    return found


def _read_file(path: Path) -> str:
    try:
        # A pipe may never end, and a device may never stop.
        text = path.read_text(encoding="utf-8") if stat.S_ISREG(os.stat(path).st_mode) else None
    except OSError as error:
        raise DataError(f"the record {_name_source(path)} must be readable", f"{error.strerror}") from None
    except ValueError:
        return ""  # not a text, so not a record
    if text is None:
        raise DataError(f"the record {_name_source(path)} must be a file", "it is a folder, a pipe or a device")
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
