"""The released programs themselves, where the user has cloned them: SHORTLIST_RELEASED names the folder."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from reproduction.data.datasets import DATASETS, Histogram
from reproduction.experiment.contenders import CONTENDERS, PAPER_LAWS, Setting
from reproduction.experiment.lists import draw_lists
from reproduction.experiment.run import compute_errors
from reproduction.experiment.timing import time_list
from reproduction.released.process import Released

COUNTS = np.sort(np.random.default_rng(8).integers(0, 60, 400))[::-1].copy()
AT = Setting(k=5, epsilon=1.0, beta=2.0**-10)


def _histogram(counts):
    return Histogram(dataset=DATASETS["games"], counts=np.array(counts), origin=None)


@pytest.fixture(scope="module")
def released():
    """The programs, running in their environment."""
    folder = os.environ.get("SHORTLIST_RELEASED")
    if not folder:
        pytest.skip("set SHORTLIST_RELEASED to a folder with the released programs")
    with Released(Path(folder)) as programs:
        yield programs


def test_the_released_fastjoint_repeats_items(released):
    """Three items are enough: counts 2, 1, 0 with k = 3. About one list in ten names an item twice."""
    at = Setting(k=3, epsilon=1.0, beta=2.0**-10)
    _, repeats = draw_lists(CONTENDERS["released-fastjoint"], _histogram([2, 1, 0]), at, range(400), released)
    assert 10 < (repeats > 0).sum() < 150
    _, ours = draw_lists(CONTENDERS["published-fastjoint"], _histogram([2, 1, 0]), at, range(400))
    assert not ours.any()


@pytest.mark.parametrize("law", PAPER_LAWS)
def test_released_programs_have_the_published_laws(released, law):
    """Where the counts are not used up, the errors of their lists are those of the published law."""
    contender = CONTENDERS[f"released-{law}"]
    timed = [time_list(contender, _histogram(COUNTS), AT, seed, released) for seed in range(300)]
    found = compute_errors(COUNTS, np.array([each.counts for each in timed]))[1]
    law_of = CONTENDERS[f"published-{law}"]
    expected = compute_errors(COUNTS, draw_lists(law_of, _histogram(COUNTS), law_of.own(AT), range(2000))[0])[1]
    assert mannwhitneyu(found, expected).pvalue > 1e-9
    assert all(each.cpu > 0 and each.wall > 0 for each in timed)
