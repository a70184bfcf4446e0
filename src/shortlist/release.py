"""The record of a release: everything that may be published, and nothing else.

Of what a `Release` holds, only `items` depends on the data; the rest is public before the data is seen.
"""

from __future__ import annotations

import csv
import html
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shortlist import record
from shortlist.errors import MissingExtraError, ParameterError
from shortlist.exact.bits import Bits
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Guarantee
from shortlist.version import __version__
from shortlist.writing import write_whole

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The chosen items, best first, and what was promised about the persons who voted.

    `parameters` are the mechanism's public ones; `d` is the size of the public domain; `secure` is whether the
    operating system's randomness was used, and so whether the guarantee holds at all.
    """

    items: tuple[Any, ...]
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    d: int
    secure: bool
    version: str = __version__

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(_plain(item) for item in self.items))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __hash__(self) -> int:
        return hash((self.items, self.mechanism, self.guarantee, self.d, self.secure, self.version))

    def __str__(self) -> str:
        width = len(str(len(self.items)))
        ranked = [f"{rank:>{width}}  {item}" for rank, item in enumerate(self.items, start=1)]
        return "\n".join([*ranked, "", self._caption()])

    def _repr_html_(self) -> str:
        ranked = enumerate((html.escape(str(item)) for item in self.items), start=1)
        rows = "".join(f"<tr><td>{rank}</td><td>{item}</td></tr>" for rank, item in ranked)
        caption = html.escape(self._caption())
        return f"<table><caption>{caption}</caption><tr><th>rank</th><th>item</th></tr>{rows}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_text, (record.dumps(self),)

    def _caption(self) -> str:
        stamp = "" if self.secure else " NOT SECURE: made with repeatable randomness, for tests only."
        return (
            f"Top {len(self.items)} of {self.d} by {self.mechanism}, {self.guarantee}; shortlist {self.version}.{stamp}"
        )

    def to_json(self, path: PathLike, *, force: bool = False) -> None:
        """Write the whole record as JSON."""
        text = record.dumps(self)
        write_whole(path, lambda file: file.write(text.encode()), force=force)

    @classmethod
    def from_json(cls, path: PathLike) -> Release:
        """Read a record that `to_json` wrote; it is equal to the one that was written."""
        if not isinstance(path, str | os.PathLike):
            raise ParameterError(f"path must be a text or a path, not {type(path).__name__}.")
        return cls(**record.load(Path(path)))

    def to_csv(self, path: PathLike, *, force: bool = False) -> None:
        """Write ranks and items as CSV; text is quoted, so that an empty one is told from a missing one."""
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(["rank", "item"])
        writer.writerows((rank, record.text(item)) for rank, item in enumerate(self.items, start=1))
        write_whole(path, lambda file: file.write(text.getvalue().encode()), force=force)

    def to_parquet(self, path: PathLike, *, force: bool = False) -> None:
        """Write ranks and items as Parquet, with the whole record as JSON in the file's metadata."""
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise MissingExtraError("tables", purpose="writing Parquet") from None
        from shortlist.votes.values import arrow_column

        items = arrow_column(self.items, what="the items")
        table = pa.table({"rank": range(1, len(self.items) + 1), "item": items})
        table = table.replace_schema_metadata({"shortlist.release": record.dumps(self)})
        write_whole(path, lambda file: parquet.write_table(table, file), force=force)


def check_may_release(mechanism: Mechanism, bits: Bits) -> None:
    """Refuse to make a secure release with a mechanism that works in floating point; asked before data is read."""
    if mechanism.research and bits.secure:
        raise ParameterError(
            f"{mechanism.name} works in floating point and may not make a secure release.",
            hint="choose another mechanism; for experiments, pass bits=SeededBits(...) and the release says so",
        )


def _from_text(text: str) -> Release:
    """Read a pickled release; its JSON form is the one that keeps its meaning."""
    return Release(**record.loads(text))


def _plain(item: Any) -> Any:
    """A NumPy scalar as the Python value that it stands for."""
    return item.item() if type(item).__module__ == "numpy" else item
