"""A report on disk, for the browser."""

import numpy as np
import pytest

from reproduction.experiment.grid import Cell, Setting
from reproduction.report.claims import judge_claims
from reproduction.report.page import write_page


@pytest.fixture(scope="session")
def report(invented, small, tmp_path_factory):
    """A report with the released programs, a stand-in, repeated items, two versions of the code and a failed cell."""
    results = invented(
        "games", "books", trials=9, stand_ins=("books",), seconds=lambda c, d, at: 1e-6 * d * at.k, released=True
    )
    key = ("games", "released-fastjoint", Setting(k=100, epsilon=1.0, beta=2.0**-10))
    results.errors[key].repeats[:] = np.arange(9)
    results.failures[Cell("games", "published-joint", Setting(k=10, epsilon=1.0))] = "MemoryError: <b>too large</b>"
    histograms = [small("games", d=400, stand_in=False), small("books", d=400)]
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(write_page(results, histograms, judge_claims(results)), encoding="utf-8")
    return path
