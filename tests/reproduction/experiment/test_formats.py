"""Small files in the form of each owner, and what is counted in them."""

from pathlib import Path

import numpy as np
import pytest

from reproduction.experiment.datasets import DATASETS, read_file, read_vector
from shortlist.errors import DataError


def _written(folder: Path, text: str) -> Path:
    path = folder / "sample.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_games_count_purchases_and_not_play(tmp_path):
    """A row counts for its game when it is a purchase; names may hold commas; repeats count."""
    path = _written(
        tmp_path,
        '151603712,"The Elder Scrolls V Skyrim",purchase,1.0,0\n'
        '151603712,"The Elder Scrolls V Skyrim",play,273.0,0\n'
        '151603712,"Warhammer 40,000 Dawn of War",purchase,1.0,0\n'
        "59945701,Dota 2,purchase,1.0,0\n"
        "59945701,Dota 2,purchase,1.0,0\n",
    )
    assert sorted(read_file(DATASETS["games"], path).tolist()) == [1, 1, 2]


def test_books_are_read_by_position_without_the_first(tmp_path):
    """The first book is dropped and a line with a comma too many is read by position, as in the experiments."""
    path = _written(
        tmp_path,
        "bookID,title,authors,average_rating,isbn,isbn13,language_code,  num_pages,ratings_count,text_reviews_count\n"
        "1,First,A/B,4.57,0439785960,9780439785969,eng,652,2095690,27591\n"
        "2,Second,C,4.49,0439358078,9780439358071,eng,870,2153167,29221\n"
        "3,Third,Jr.,D,4.00,0439358079,9780439358072,eng,306,15,2\n",
    )
    assert read_file(DATASETS["books"], path).tolist() == [2153167, 306]


def test_news_columns_begin_with_a_space(tmp_path):
    """The column of shares is found with the space that its owner puts before it."""
    path = _written(tmp_path, "url, timedelta, shares\nhttp://a/,731.0,593\nhttp://b/,731.0,711\n")
    assert read_file(DATASETS["news"], path).tolist() == [593, 711]


def test_tweets_may_run_over_lines(tmp_path):
    """A text with a line break and a comma is one tweet."""
    path = _written(
        tmp_path,
        "author,content,country,date_time,id,language,latitude,longitude,number_of_likes,number_of_shares\n"
        'katyperry,"one, two\nthree",,12/01/2017 19:52,8.2e17,en,,,7900,3472\n'
        "katyperry,plain,,11/01/2017 08:38,8.1e17,en,,,3689,1380\n",
    )
    assert read_file(DATASETS["tweets"], path).tolist() == [7900, 3689]


def test_movies_count_ratings_per_movie(tmp_path):
    """The header is no rating."""
    path = _written(tmp_path, "userId,movieId,rating,timestamp\n1,296,5.0,1147880044\n2,296,3.5,1\n2,306,3.5,2\n")
    assert read_file(DATASETS["movies"], path).tolist() == [2, 1]


def test_food_counts_ratings_per_product(tmp_path):
    """There is no header: the first line is a rating like the others."""
    path = _written(tmp_path, "A1ZQZ8RJS1XVTX,0657745316,5.0,1381449600\nA31W38VGZAUUM4,0700026444,5.0,1\n")
    assert read_file(DATASETS["food"], path).tolist() == [1, 1]


def test_a_vector_of_counts_is_read_as_it_is(tmp_path):
    """NumPy's own files need no parsing."""
    np.save(tmp_path / "games.counts.npy", np.array([4, 2], dtype=np.int32))
    assert read_vector(tmp_path / "games.counts.npy").tolist() == [4, 2]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("news", "url,likes\na,3\n", "must have the column 'shares'"),
        ("news", "", "must have the column 'shares'"),
        ("news", "url, shares\na,many\n", "must hold a number in the column 'shares'"),
        ("news", "url, shares\na,-1\n", "no count below 0"),
        ("games", "", "must hold at least one count"),
        ("games", "a,b\n", "must have at least 3 columns"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_words(tmp_path, name, text, expected):
    """The text names the file and the column, and quotes nothing else."""
    with pytest.raises(DataError, match=expected):
        read_file(DATASETS[name], _written(tmp_path, text))


@pytest.mark.parametrize("counts", [np.array([1.5]), np.array([[1]]), np.array([-1])])
def test_a_vector_of_other_things_is_refused(tmp_path, counts):
    """One row of whole numbers from 0 on."""
    np.save(tmp_path / "x.npy", counts)
    with pytest.raises(DataError, match=r"x\.npy must hold"):
        read_vector(tmp_path / "x.npy")


def test_a_vector_that_is_no_vector_is_refused(tmp_path):
    """Bytes that NumPy cannot read are no reason for a traceback."""
    for text in ("1,2,3", ""):
        with pytest.raises(DataError, match="must be a NumPy array file"):
            read_vector(_written(tmp_path, text))
