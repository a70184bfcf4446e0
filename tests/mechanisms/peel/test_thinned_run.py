"""Runs of PNF-Peel along a race: every quick way of deciding gives the lists that the slow ones give."""

import numpy as np
import pytest

from shortlist.mechanisms import PNFPeel
from shortlist.mechanisms.peel import thinned_run
from shortlist.profile import Profile
from shortlist.testing import SeededBits

HISTOGRAMS = {
    "dense": np.arange(120) % 19,
    "zipf": (2000 / np.arange(1, 200)).astype(np.int64),
    "far apart": np.array([2**62, 2**61, 4000, 3999, 900, 890, 880, 9, 9, 8, 2, 1, 0]),
    "steep": np.arange(0, 12_000, 40),
}
every_histogram = pytest.mark.parametrize("counts", HISTOGRAMS.values(), ids=HISTOGRAMS)


def draw_lists(counts, k=9, epsilon=4):
    prepared = PNFPeel(k=k, epsilon=epsilon).prepare(Profile.of(counts))
    return [prepared.draw_positions(SeededBits(seed)) for seed in range(15)]


@every_histogram
def test_sums_that_follow_the_run_are_never_wrong(counts, monkeypatch):
    """If they decide nothing, neither in the first inequality nor after it, lists stay the same for the same bits."""
    parameters = {"k": min(90, len(counts) - 3), "epsilon": 40}
    answers = draw_lists(counts), draw_lists(counts, **parameters)
    monkeypatch.setattr(thinned_run, "_MARGIN", 1.0)
    monkeypatch.setattr(thinned_run, "accept_by_two_sums", lambda *arguments: None)
    assert (draw_lists(counts), draw_lists(counts, **parameters)) == answers


@every_histogram
@pytest.mark.parametrize("reach", [0, 3])
def test_weights_for_few_levels_give_the_same_lists(counts, reach, monkeypatch):
    """How many best levels an array of weights and a sum serve does not matter."""
    answers = draw_lists(counts)
    monkeypatch.setattr(thinned_run, "_FAR_BITS", reach)
    monkeypatch.setattr(thinned_run, "_NEAR", 2.0**-reach)
    assert draw_lists(counts) == answers


def test_every_proposal_has_a_number_of_its_own(monkeypatch):
    """If the spare numbers V are used up, more are drawn, and none is used for two proposals."""
    monkeypatch.setattr(thinned_run, "_SPARE", 1)
    monkeypatch.setattr(thinned_run, "_MARGIN", 1.0)  # every proposal comes to `_accept`
    run, batches, coins = thinned_run.ThinnedRun, [], []
    draw, accept = run._draw_coins, run._accept
    monkeypatch.setattr(run, "_draw_coins", lambda self, n: batches.append(n) or draw(self, n))
    monkeypatch.setattr(run, "_accept", lambda self, *rest: coins.append(rest[-1]) or accept(self, *rest))
    draw_lists(HISTOGRAMS["dense"], k=40, epsilon=40)
    assert len(batches) > 30
    assert len(set(coins)) == len(coins)


def test_the_first_inequality_decides_most_proposals(monkeypatch):
    """Where counts are close, fewer than one in five proposals needs more than the first inequality."""
    asked = []
    accept = thinned_run.ThinnedRun._accept
    monkeypatch.setattr(thinned_run.ThinnedRun, "_accept", lambda self, *rest: asked.append(1) or accept(self, *rest))
    draw_lists(HISTOGRAMS["dense"], k=40, epsilon=1)
    assert len(asked) < 15 * 40 / 5
