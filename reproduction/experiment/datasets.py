"""The six data sets of the paper: their sizes, where they come from, and stand-ins for missing files.

A stand-in is a synthetic histogram. Its size is right, and its details are invented.
"""

from __future__ import annotations

import csv
import hashlib
import os
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.privacy.numbers import quote

TOP = 300
"""How many of the top scores the paper's figures of gaps show."""
VARIABLE = "SHORTLIST_DATA"
"""The variable of the environment that names the folder, where none is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set of the paper. datasets.toml says what each field is."""

    name: str
    d: int
    file: str
    authors_file: str
    source: str
    format: Mapping[str, Any]
    wide_gaps: bool
    stand_in: Mapping[str, float]


_TABLES = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
DATASETS = {name: DataSet(name=name, **table) for name, table in _TABLES.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histogram:
    """The counts of a data set in falling order, and the file they come from. A stand-in has no file."""

    dataset: DataSet
    counts: IntArray
    origin: Path | None

    @property
    def title(self) -> str:
        """The name as tables and figures show it."""
        return write_title(self.dataset.name, stand_in=self.origin is None)

    @property
    def fingerprint(self) -> str:
        """A short name for exactly these counts."""
        return hashlib.sha256(self.counts.tobytes()).hexdigest()[:16]

    def gaps(self) -> IntArray:
        """The differences between neighbours among the top scores, as the paper's Figure 4 shows them."""
        top = self.counts[: TOP + 1]
        return top[:-1] - top[1:]


def write_title(name: str, *, stand_in: bool) -> str:
    """Write a data set's name, and beside it whether it is a stand-in.

    >>> write_title("food", stand_in=True)
    'food (stand-in)'
    """
    return f"{name} (stand-in)" if stand_in else name


def find_folder(given: Path | None, *, filled: bool = True) -> Path | None:
    """Return the folder that was given, or else the one that the environment names.

    With `filled`, refuse a folder without a data set, because it was probably named by mistake.
    """
    named = os.environ.get(VARIABLE)
    folder = given or (Path(named) if named else None)
    option = "`data`" if given else VARIABLE
    if folder is not None and not folder.is_dir():
        raise DataError(f"{option} must name a folder", f"{folder} is not one")
    if folder is not None and filled and not any(locate(each, folder) for each in DATASETS.values()):
        raise DataError(
            f"{option} must name a folder with a data set",
            f"{folder} has none",
            hint=f"a data set is NAME.counts.npy or a file like {Path(DATASETS['games'].file).name}; `python -m "
            "reproduction --list-data` says where to get them",
        )
    return folder


def locate(dataset: DataSet, folder: Path | None) -> Path | None:
    """Find a data set's file: a vector of counts first, because it is the fastest to read."""
    if folder is None:
        return None
    owners, authors = dataset.file, dataset.authors_file
    places = (f"{dataset.name}.counts.npy", Path(owners).name, owners, authors, f"datasets/{authors}")
    return next((path for place in places if (path := folder / place).is_file()), None)


def load(dataset: DataSet, folder: Path | None) -> Histogram:
    """Read a data set and check its size; without a file, make a stand-in of that size."""
    path = locate(dataset, folder)
    if path is None:
        return Histogram(dataset=dataset, counts=make_stand_in(dataset), origin=None)
    counts = read_vector(path) if path.suffix == ".npy" else read_file(dataset, path)
    if len(counts) != dataset.d:
        raise DataError(
            f"{path.name} must hold the {dataset.d:,} items of the paper's {dataset.name}",
            f"it holds {len(counts):,}",
            hint=f"get it from {dataset.source}, or move it away to use a stand-in",
        )
    counts.sort()
    return Histogram(dataset=dataset, counts=counts[::-1].copy(), origin=path)


def make_stand_in(dataset: DataSet) -> IntArray:
    """Make up d counts in falling order, each the least plus a Poisson number.

    The rates fall by the law of Zipf and Mandelbrot, c·(rank + shift)^(−exponent). The same name gives the same counts.

    >>> counts = make_stand_in(DATASETS["food"])
    >>> len(counts), int(counts[-1]), bool(abs(counts[99] - 2_300) < 50), bool(abs(counts.sum() - 1_297_156) < 9_999)
    (166049, 1, True, True)
    """
    seed = int.from_bytes(hashlib.sha256(f"stand-in {dataset.name}".encode()).digest()[:8])
    generator = np.random.Generator(np.random.PCG64(seed))
    d, shape = dataset.d, dataset.stand_in
    falling = ((1 + shape["shift"]) / (np.arange(1.0, d + 1) + shape["shift"])) ** shape["exponent"]
    rates = (shape["largest"] - shape["least"]) * falling
    counts = int(shape["least"]) + generator.poisson(rates).astype(np.int64)
    return np.sort(counts)[::-1].copy()


def read_file(dataset: DataSet, path: Path) -> IntArray:
    """Count what the owner's file has: occurrences of items, or numbers that are counts already."""
    given = dataset.format
    if "numbers" in given:
        return _read_numbers(path, given["numbers"])[given.get("skip", 0) :]
    rows = _read_rows(path, columns=given["columns"])
    if given["header"]:
        next(rows, None)
    place, word = given.get("where", (0, None))
    items = Counter(row[given["items"]] for row in rows if word is None or row[place] == word)
    return _check(path, np.fromiter(items.values(), dtype=np.int64))


def read_vector(path: Path) -> IntArray:
    """A plain vector of counts, as NumPy saves it."""
    try:
        counts = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise DataError(f"{path.name} must be a NumPy array file, and cannot be read as one") from None
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise DataError(f"{path.name} must hold one row of integers", f"it holds {counts.ndim}-d {counts.dtype}")
    return _check(path, counts.astype(np.int64))


def _read_numbers(path: Path, name: str) -> IntArray:
    """Read a column of whole numbers by the position that the header gives it."""
    rows = _read_rows(path, columns=1)
    header = [column.strip() for column in next(rows, [])]
    if name not in header:
        raise DataError(f"{path.name} must have the column {quote(name)}, and its first line does not name it")
    position = header.index(name)
    try:
        counts = np.fromiter((int(float(row[position])) for row in rows), dtype=np.int64)
    except (ValueError, IndexError, OverflowError):
        raise DataError(f"{path.name} must hold a number in the column {quote(name)} of every row") from None
    return _check(path, counts)


def _read_rows(path: Path, *, columns: int) -> Iterator[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            for row in csv.reader(lines):
                if 0 < len(row) < columns:
                    raise DataError(f"{path.name} must have at least {columns} columns, and some line has fewer")
                if row:
                    yield row
    except (OSError, csv.Error) as error:
        raise DataError(f"{path.name} cannot be read as CSV ({type(error).__name__})") from None


def _check(path: Path, counts: IntArray) -> IntArray:
    if not len(counts) or counts.min() < 0:
        raise DataError(f"{path.name} must hold at least one count, and no count below 0")
    return counts
