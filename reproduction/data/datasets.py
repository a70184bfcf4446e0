"""The six data sets of the paper: their sizes, where they come from, and the stand-ins for missing files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.data import formats
from reproduction.data.standins import make_stand_in
from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.privacy.numbers import quote

TOP = 300
"""How many of the top scores the paper's figures of gaps show."""
VARIABLE = "SHORTLIST_DATA"
"""The variable of the environment that names the folder, where none is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set of the paper, as its owner publishes it."""

    name: str
    what: str
    d: int
    file: str
    inside: str
    """The folder that the owner's archive puts the file into."""
    authors_file: str
    """What the paper's authors rename the file to."""
    source: str
    read: Callable[[Path], IntArray]
    wide_gaps: bool
    """Whether the paper counts it among those with large gaps between the top scores."""
    largest: int
    hundredth: int
    total: int
    least: int


# The largest count, the hundredth, the total and the least shape a stand-in, and nothing else. Those of games, books
# and news are known; for movies the largest and the total are; the others are guesses.
DATASETS = {
    each.name: each
    for each in (
        DataSet(
            name="games",
            what="Steam purchases per game",
            d=5_155,
            file="steam-200k.csv",
            inside="archive",
            authors_file="games.csv",
            source="https://www.kaggle.com/datasets/tamber/steam-video-games",
            read=formats.read_games,
            wide_gaps=False,
            largest=4_841,
            hundredth=214,
            total=129_511,
            least=1,
        ),
        DataSet(
            name="books",
            what="Goodreads ratings per book",
            d=11_126,
            file="books.csv",
            inside="archive",
            authors_file="books.csv",
            source="https://www.kaggle.com/datasets/jealousleopard/goodreadsbooks",
            read=formats.read_books,
            wide_gaps=True,
            largest=4_597_666,
            hundredth=335_477,
            total=197_483_636,
            least=0,
        ),
        DataSet(
            name="news",
            what="shares per Mashable article",
            d=39_644,
            file="OnlineNewsPopularity.csv",
            inside="OnlineNewsPopularity",
            authors_file="news.csv",
            source="https://archive.ics.uci.edu/dataset/332",
            read=formats.read_news,
            wide_gaps=True,
            largest=843_300,
            hundredth=74_100,
            total=134_606_452,
            least=1,
        ),
        DataSet(
            name="tweets",
            what="likes per tweet of twenty popular accounts",
            d=52_542,
            file="tweets.csv",
            inside="dataverse_files",
            authors_file="tweets.csv",
            source="https://doi.org/10.7910/DVN/JBXKFD",
            read=formats.read_tweets,
            wide_gaps=True,
            largest=600_000,
            hundredth=55_000,
            total=250_000_000,
            least=0,
        ),
        DataSet(
            name="movies",
            what="MovieLens 25M ratings per movie",
            d=59_047,
            file="ratings.csv",
            inside="ml-25m",
            authors_file="movies.csv",
            source="https://grouplens.org/datasets/movielens/25m/",
            read=formats.read_movies,
            wide_gaps=True,
            largest=81_491,
            hundredth=38_000,
            total=25_000_095,
            least=1,
        ),
        DataSet(
            name="food",
            what="Amazon ratings per grocery product",
            d=166_049,
            file="ratings_Grocery_and_Gourmet_Food.csv",
            inside="amazon",
            authors_file="foods.csv",
            source="https://jmcauley.ucsd.edu/data/amazon/",
            read=formats.read_food,
            wide_gaps=False,
            largest=11_500,
            hundredth=2_300,
            total=1_297_156,
            least=1,
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
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


def choose_datasets(names: Sequence[str]) -> tuple[DataSet, ...]:
    """Take data sets by their names.

    >>> [each.d for each in choose_datasets(["games", "food"])]
    [5155, 166049]
    """
    for name in names:
        if name not in DATASETS:
            raise ParameterError(
                "{datasets} must be some of {known}",
                "{name} is not one of them",
                known=", ".join(DATASETS),
                name=quote(name),
            )
    if not names:
        raise ParameterError("{datasets} must be some of {known}", "none was given", known=", ".join(DATASETS))
    return tuple(DATASETS[name] for name in dict.fromkeys(names))


def find_folder(given: Path | None) -> Path | None:
    """Return the folder that was given, or else the one that the environment names."""
    named = os.environ.get(VARIABLE)
    folder = given or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        raise DataError(
            "{data} must name a folder" if given else "{variable} must name a folder",
            "{folder} is not one",
            folder=folder,
            variable=VARIABLE,
        )
    return folder


def require_folder(given: Path | None) -> Path | None:
    """Return the same folder. Refuse one without a data set, because it was probably named by mistake."""
    folder = find_folder(given)
    if folder is not None and not any(locate(each, folder) for each in DATASETS.values()):
        raise DataError(
            "{data} must name a folder with a data set" if given else "{variable} must name a folder with a data set",
            "{folder} has none",
            hint="a data set is NAME.counts.npy or a file like {example}; "
            "`python -m reproduction --list-data` says where to get them",
            folder=folder,
            variable=VARIABLE,
            example=DATASETS["games"].file,
        )
    return folder


def locate(dataset: DataSet, folder: Path | None) -> Path | None:
    """Find a data set's file: a vector of counts first, because it is the fastest to read."""
    if folder is None:
        return None
    places = (
        f"{dataset.name}.counts.npy",
        dataset.file,
        f"{dataset.inside}/{dataset.file}",
        dataset.authors_file,
        f"datasets/{dataset.authors_file}",
    )
    return next((path for place in places if (path := folder / place).is_file()), None)


def load(dataset: DataSet, folder: Path | None) -> Histogram:
    """Read a data set and check its size; without a file, make a stand-in of that size."""
    path = locate(dataset, folder)
    if path is None:
        counts = make_stand_in(
            dataset.name,
            d=dataset.d,
            largest=dataset.largest,
            hundredth=dataset.hundredth,
            total=dataset.total,
            least=dataset.least,
        )
        return Histogram(dataset=dataset, counts=counts, origin=None)
    counts = formats.read_vector(path) if path.suffix == ".npy" else dataset.read(path)
    if len(counts) != dataset.d:
        raise DataError(
            "{file} must hold the {size:,} items of the paper's {name}",
            "it holds {held:,}",
            hint="get it from {source}, or move it away to use a stand-in",
            file=path.name,
            size=dataset.d,
            name=dataset.name,
            held=len(counts),
            source=dataset.source,
        )
    counts.sort()
    return Histogram(dataset=dataset, counts=counts[::-1].copy(), origin=path)
