"""The six data sets in the form in which their owners publish them: a file in, one count for each item out.

What is counted follows the public experiment code of the paper and of Gillenwater et al. (ICML 2022), line by line,
because only then are the histograms the same.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.privacy.numbers import quote


def read_games(path: Path) -> IntArray:
    """Purchases per game: `steam-200k.csv`, without a header: user, game, behaviour, hours, 0."""
    return _count_occurrences(path, (row[1] for row in _read_rows(path, columns=3) if row[2] == "purchase"))


def read_books(path: Path) -> IntArray:
    """Ratings per book: `books.csv` of Goodreads.

    Some lines hold one comma too many. The published experiments read the column by its position all the same, and
    drop the first book. This function does the same: otherwise the histogram would not be theirs.
    """
    return _read_column(path, "ratings_count")[1:]


def read_news(path: Path) -> IntArray:
    """Shares per article: `OnlineNewsPopularity.csv`, whose column names begin with a space."""
    return _read_column(path, "shares")


def read_tweets(path: Path) -> IntArray:
    """Likes per tweet: `tweets.csv`, whose texts may run over several lines."""
    return _read_column(path, "number_of_likes")


def read_movies(path: Path) -> IntArray:
    """Ratings per movie: `ratings.csv` of MovieLens: userId, movieId, rating, timestamp."""
    rows = _read_rows(path, columns=4)
    next(rows, None)
    return _count_occurrences(path, (row[1] for row in rows))


def read_food(path: Path) -> IntArray:
    """Ratings per product: `ratings_Grocery_and_Gourmet_Food.csv`, without a header: user, item, rating, time."""
    return _count_occurrences(path, (row[1] for row in _read_rows(path, columns=4)))


def read_vector(path: Path) -> IntArray:
    """A plain vector of counts, as NumPy saves it."""
    try:
        counts = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise DataError("{file} must be a NumPy array file, and cannot be read as one", file=path.name) from None
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise DataError(
            "{file} must hold one row of integers",
            "it holds {shape}-d {type}",
            file=path.name,
            shape=counts.ndim,
            type=counts.dtype,
        )
    return _check(path, counts.astype(np.int64))


def _count_occurrences(path: Path, items: Iterable[str]) -> IntArray:
    return _check(path, np.fromiter(Counter(items).values(), dtype=np.int64))


def _read_column(path: Path, name: str) -> IntArray:
    """Read a column of whole numbers by the position that the header gives it."""
    rows = _read_rows(path, columns=1)
    header = [column.strip() for column in next(rows, [])]
    if name not in header:
        raise DataError(
            "{file} must have the column {column}, and its first line does not name it",
            file=path.name,
            column=quote(name),
        )
    position = header.index(name)
    try:
        counts = np.fromiter((int(float(row[position])) for row in rows), dtype=np.int64)
    except (ValueError, IndexError, OverflowError):
        raise DataError(
            "{file} must hold a number in the column {column} of every row", file=path.name, column=quote(name)
        ) from None
    return _check(path, counts)


def _read_rows(path: Path, *, columns: int) -> Iterator[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            for row in csv.reader(lines):
                if 0 < len(row) < columns:
                    raise DataError(
                        "{file} must have at least {columns} columns, and some line has fewer",
                        file=path.name,
                        columns=columns,
                    )
                if row:
                    yield row
    except (OSError, csv.Error) as error:
        raise DataError(
            "{file} cannot be read as CSV ({reason})", file=path.name, reason=type(error).__name__
        ) from None


def _check(path: Path, counts: IntArray) -> IntArray:
    if not len(counts) or counts.min() < 0:
        raise DataError("{file} must hold at least one count, and no count below 0", file=path.name)
    return counts
