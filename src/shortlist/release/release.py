"""A release: everything that may be published, and nothing else.

The items, their noisy counts, the assessment and the choice of `auto` depend on the data, and the guarantee covers
them. The rest is public before the votes are read.
"""

from __future__ import annotations

import html
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

from shortlist.atomic_files import write_whole
from shortlist.errors import DataError, ParameterError
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, ReleasedCounts
from shortlist.near_names import suggest_names
from shortlist.privacy import Guarantee
from shortlist.release import explanation, record
from shortlist.release.columns import METADATA, make_arrow, make_columns, make_pandas, read_parquet_record, write_csv
from shortlist.release.consistency import check_consistent
from shortlist.safe_text import escape
from shortlist.version import __version__

_LONGEST_NAME = 255
PathLike = str | os.PathLike[str]
NOT_SECURE = "NOT SECURE: made with repeatable randomness, for tests only."
CAPPED = "are counted. Counts and accuracy are about those: more people may have chosen an item."
"""What a limit means for the counts that are stated, where the library counted the votes."""

_NO_STATEMENT = (
    "It says nothing about places whose true item has {votes:,} votes or fewer: these may hold random items."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Sequence[Any]):
    """The chosen items, best first, and what is promised about the persons who voted.

    A release is a sequence of its items. `parameters` are the public parameters of the mechanism. `d` is the number of
    items in the public domain, or None without one. `secure` is true if the randomness came from the operating
    system. The guarantee holds only then. `unordered` is true if the order of the items means nothing. `up_to` is
    how many items there are at most, where the mechanism may choose fewer or none, and None where the number is fixed.

    >>> from shortlist import prepare
    >>> release = prepare({"apple": 310, "pear": 190, "plum": 12}, k=2, epsilon=1).release()
    >>> len(release), release[0], "plum" in release
    (2, 'apple', False)
    """

    items: tuple[Any, ...]
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    d: int | None
    secure: bool
    version: str = __version__
    unordered: bool = False
    up_to: int | None = None
    counts: ReleasedCounts | None = None
    error_bound: ErrorBound | None = None
    population: str | None = None
    assessment: Assessment | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(_to_python(item) for item in self.items))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __hash__(self) -> int:
        return hash((self.items, self.mechanism, self.guarantee, self.d, self.secure, self.version))

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

    def __str__(self) -> str:
        columns = [
            [escape(value) for value in column] for name, column in make_columns(self).items() if name != "secure"
        ]
        widths = [max(map(len, column), default=0) for column in columns]
        lines = [
            "  ".join(
                [row[0] if self.unordered else row[0].rjust(widths[0]), *map(str.ljust, row[1:], widths[1:])]
            ).rstrip()
            for row in zip(*columns, strict=True)
        ]
        return "\n".join([*lines, "", self._caption()])

    def _repr_html_(self) -> str:
        columns = make_columns(self)
        heads = "".join(f"<th>{name}</th>" for name in columns)
        cells = [[f"<td>{html.escape(escape(value))}</td>" for value in column] for column in columns.values()]
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
        return f"<table><caption>{html.escape(self._caption())}</caption><tr>{heads}</tr>{rows}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return _rebuild, ({**values, "parameters": dict(self.parameters)},)

    def _caption(self) -> str:
        of_all = "" if self.d is None else f" of {self.d:,}"
        k = self.parameters.get("k")
        asked = f" (up to {k} were asked for)" if isinstance(k, int) and len(self) < k else ""
        top = f"Top {len(self)}{of_all}" if self.items else "No items"
        chosen = top + asked + (", in no order," if self.items and self.unordered else "")
        ran = f" (chose {self.parameters['chosen']})" if "chosen" in self.parameters else ""
        first = f"{chosen} by {self.mechanism}{ran}, {self.guarantee}; shortlist {self.version}."
        return " ".join([first, *self.remarks(), *([] if self.secure else [NOT_SECURE])])

    def remarks(self) -> list[str]:
        """Say in sentences which votes count, and how good the list is.

        An assessed bound is left out where the public bound is at most as large. The public bound is always stated, so
        each bound that is stated is false with its stated probability at most.
        """
        found, public, assessed = [], self.error_bound, self.assessment
        cap = self.parameters.get("votes_per_person")
        if "cap" in self.parameters and cap is not None:
            found.append(f"Votes per person: at most {cap}, {self.parameters['cap']}.")
        elif cap is not None:
            found.append(f"At most {cap} {'vote' if cap == 1 else 'votes'} of each {self.guarantee.unit} {CAPPED}")
        if public is not None:
            found += [f"Accuracy: {public}.", *([_NO_STATEMENT.format(votes=public.votes)] if public.votes else [])]
        if assessed is not None:
            shorter = public is not None and public.votes <= assessed.bound.votes
            found.append(f"Assessment: {'no smaller bound follows from these data' if shorter else assessed}.")
        return found

    def explain(self) -> str:
        """Write a paragraph to publish with the list, for readers who do not know differential privacy."""
        return explanation.explain(self)

    @property
    def domain_size(self) -> int | None:
        """The number of items in the public domain: `d`, by the name that the record uses."""
        return self.d

    def to_dict(self) -> dict[str, Any]:
        """Describe the release by values that JSON can hold, as docs/release.schema.json says."""
        return record.encode(self)

    @overload
    def to_json(self) -> str: ...
    @overload
    def to_json(self, path: PathLike, *, force: bool = False) -> None: ...
    @suggest_names
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
            raise ParameterError("{source} must be a path or JSON text", "not {type}", type=type(source).__name__)
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        name = "the text" if is_text else _name_source(source)
        stored = record.read(str(source) if is_text else _read_file(Path(source)), source=name)
        check_consistent(stored, source=name)
        return cls(**stored)

    @classmethod
    def from_parquet(cls, path: PathLike) -> Release:
        """Read the record that `to_parquet` wrote into the metadata of the file, under the key `shortlist.release`."""
        return cls.from_json(read_parquet_record(path, name=_name_source(path)))

    @suggest_names
    def to_csv(self, path: PathLike, *, force: bool = False) -> None:
        """Write ranks and items as CSV. If the release is not secure, a further column is false in every row."""
        write_whole(path, lambda file: file.write(write_csv(self).encode()), force=force)

    @suggest_names
    def to_parquet(self, path: PathLike, *, force: bool = False) -> None:
        """Write ranks and items as Parquet, with the whole record as JSON in the file's metadata."""
        table = make_arrow(self)
        from pyarrow import parquet

        write_whole(path, lambda file: parquet.write_table(table, file), force=force)

    def to_arrow(self) -> Any:
        """Make a `pyarrow.Table` of ranks and items, with the whole record as JSON in its metadata."""
        return make_arrow(self)

    def to_pandas(self) -> Any:
        """Make a `pandas.DataFrame` of ranks and items, with the whole record as JSON in its `attrs`."""
        frame = make_pandas(self)
        frame.attrs[METADATA] = record.write(self)
        return frame

    def to_polars(self) -> Any:
        """Make a `polars.DataFrame` of ranks and items."""
        return import_module("polars").from_arrow(make_arrow(self))


def _name_source(path: PathLike) -> str:
    """Name a file in an error. A text longer than any file name is probably a record, which errors do not repeat."""
    text = str(path)
    return repr(text) if len(text) <= _LONGEST_NAME else "of that name"


def _read_file(path: Path) -> str:
    try:
        # A pipe may never end, and a device may never stop.
        text = path.read_text(encoding="utf-8") if stat.S_ISREG(os.stat(path).st_mode) else None
    except OSError as error:
        raise DataError(
            "the record {path} must be readable", "{reason}", path=_name_source(path), reason=error.strerror
        ) from None
    except ValueError:
        return ""  # not a text, so not a record
    if text is None:
        raise DataError(
            "the record {path} must be a file", "it is a folder, a pipe or a device", path=_name_source(path)
        )
    return text


def _rebuild(values: dict[str, Any]) -> Release:
    """Read a pickled release."""
    return Release(**values)


def _to_python(item: Any) -> Any:
    """Turn a NumPy scalar into a Python value."""
    return item.item() if type(item).__module__ == "numpy" else item
