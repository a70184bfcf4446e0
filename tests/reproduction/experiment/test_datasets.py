"""The six data sets: found, checked, or stood in for."""

import numpy as np
import pytest

from reproduction.experiment.datasets import DATASETS, find_folder, load, locate
from reproduction.experiment.grid import Grid
from shortlist.errors import DataError, ParameterError


def test_sizes_are_the_published_ones():
    """Table 1 of the paper."""
    assert [each.d for each in DATASETS.values()] == [5_155, 11_126, 39_644, 52_542, 59_047, 166_049]


def test_the_owners_file_gives_the_published_size(tmp_path):
    """A file as Steam's users know it is found by its name, and read."""
    rows = (f'{user},"Game, part {game}",purchase,1.0,0\n' for game in range(5_155) for user in range(1 + game % 3))
    (tmp_path / "steam-200k.csv").write_text("".join(rows))
    histogram = load(DATASETS["games"], tmp_path)
    assert histogram.origin == tmp_path / "steam-200k.csv"
    assert histogram.title == "games"
    assert histogram.counts[0] == 3
    assert len(histogram.counts) == 5_155


def test_both_forms_of_a_data_set_are_the_same_histogram(tmp_path):
    """Counts fall, whatever order the file has, so errors do not depend on the form."""
    (tmp_path / "OnlineNewsPopularity").mkdir()
    shares = np.random.default_rng(1).integers(0, 1000, 39_644)
    lines = "".join(f"http://a/{index}, {count}\n" for index, count in enumerate(shares))
    (tmp_path / "OnlineNewsPopularity" / "OnlineNewsPopularity.csv").write_text("url, shares\n" + lines)
    from_owner = load(DATASETS["news"], tmp_path)
    np.save(tmp_path / "news.counts.npy", np.sort(shares))
    from_vector = load(DATASETS["news"], tmp_path)
    assert from_vector.origin != from_owner.origin
    assert from_vector.fingerprint == from_owner.fingerprint
    assert (np.diff(from_vector.counts) <= 0).all()


@pytest.mark.parametrize("folder", ["", "datasets"])
def test_the_authors_names_are_found(tmp_path, folder):
    """The paper's authors rename the files, and put them into a folder `datasets`."""
    place = tmp_path / folder
    place.mkdir(exist_ok=True)
    (place / "foods.csv").write_text("".join(f"u,item{index},5,0\n" for index in range(166_049)))
    assert locate(DATASETS["food"], tmp_path) == place / "foods.csv"
    assert len(load(DATASETS["food"], tmp_path).counts) == 166_049
    assert [each.authors_file for each in DATASETS.values()] == [
        *("games.csv", "books.csv", "news.csv", "tweets.csv", "movies.csv", "foods.csv")
    ]


def test_another_size_is_refused(tmp_path):
    """A cut or newer file is not the paper's data."""
    np.save(tmp_path / "games.counts.npy", np.arange(5))
    with pytest.raises(DataError, match=r"the 5,155 items of the paper's games; it holds 5\.\nHint: get it from"):
        load(DATASETS["games"], tmp_path)


@pytest.mark.parametrize("name", DATASETS)
def test_a_stand_in_has_the_published_size_and_says_what_it_is(name):
    """Without a file there is a synthetic histogram, the same every time, labelled."""
    histogram = load(DATASETS[name], None)
    assert len(histogram.counts) == DATASETS[name].d
    assert histogram.title == f"{name} (stand-in)"
    assert histogram.fingerprint == load(DATASETS[name], None).fingerprint
    assert (np.diff(histogram.counts) <= 0).all()
    assert histogram.counts.sum() == pytest.approx(DATASETS[name].stand_in["total"], rel=0.02)
    assert histogram.counts[0] == pytest.approx(DATASETS[name].stand_in["largest"], rel=0.05)
    assert histogram.counts[-1] >= DATASETS[name].stand_in["least"]


def test_unknown_names_are_refused():
    """The text lists the names there are."""
    with pytest.raises(ParameterError, match="some of games, books, news, tweets, movies, food; 'shoes' is not"):
        Grid(datasets=("games", "shoes"))
    with pytest.raises(ParameterError, match="none was given"):
        Grid(datasets=())


def test_the_folder_is_given_or_named_by_the_environment(tmp_path, monkeypatch):
    """What is given wins."""
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    assert find_folder(None) is None
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "games.counts.npy", np.arange(3))
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path / "one"))
    assert find_folder(None) == tmp_path / "one"
    assert find_folder(tmp_path / "two") == tmp_path / "two"
    assert locate(DATASETS["books"], tmp_path / "two") is None


def test_a_folder_without_any_data_set_is_refused(tmp_path, monkeypatch):
    """Such a folder was named by mistake; it can still be looked at."""
    with pytest.raises(DataError, match=r"^data must name a folder with a data set; .* has none\.\nHint"):
        find_folder(tmp_path)
    assert find_folder(tmp_path, filled=False) == tmp_path
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path / "absent"))
    with pytest.raises(DataError, match="SHORTLIST_DATA must name a folder"):
        find_folder(None)


@pytest.mark.parametrize("name", ["games", "books", "news"])
def test_real_vectors_are_found_where_they_are(real_counts, name, tmp_path):
    """The vectors that come with the project are the paper's."""
    np.save(tmp_path / f"{name}.counts.npy", real_counts(name))
    assert load(DATASETS[name], tmp_path).counts[0] == DATASETS[name].stand_in["largest"]
