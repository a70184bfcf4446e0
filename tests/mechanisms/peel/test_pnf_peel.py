"""PNF-Peel: permute-and-flip, round after round."""

from fractions import Fraction

import numpy as np
import pytest
from contract import MechanismContract
from divergences import ball
from flint import arb, ctx
from peels import PeelLaw, decay, flip_round

from shortlist import top_k
from shortlist.exact.thinning import accept_by_sums
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import PNFPeel
from shortlist.testing import SeededBits


class TestPNFPeel(PeelLaw, MechanismContract):
    random_cases = (120, 6)
    private_cases = (12, 4)
    round_law = staticmethod(flip_round)

    def make(self, k, epsilon, relation="add-remove"):
        return PNFPeel(k=k, epsilon=epsilon, neighbours=relation)

    def rate(self, mechanism):
        return mechanism.epsilon / (mechanism.k * (1 if mechanism.neighbours == "add-remove" else 2))


HISTOGRAMS = [np.arange(120) % 19, (2000 / np.arange(1, 200)).astype(int), np.array([2**62, 2**61, 9, 9, 8, 2, 1, 0])]


@pytest.mark.parametrize("counts", HISTOGRAMS, ids=["dense", "zipf", "giant"])
@pytest.mark.parametrize(
    "shortcut",
    [
        "thinned_run.accept_by_two_sums",
        "thinned_run.accept_by_power_sums",
        "thinned_run.accept_by_power_sums thinned_run.accept_by_logs",
        "pnf_peel.accept_by_integers",
        "pnf_peel.accept_by_sums",
    ],
)
def test_no_shortcut_is_ever_wrong(counts, shortcut, monkeypatch):
    """Deciding every proposal by the whole sum gives the lists that the shortcuts give, for the same bits."""
    if shortcut.startswith("pnf_peel"):  # where no race is run
        monkeypatch.setattr("shortlist.mechanisms.peel.pnf_peel.ThinnedRun.run", lambda self, race: None)
    answers = [top_k(counts, k=6, epsilon=3, mechanism="pnf-peel", bits=SeededBits(s)).tolist() for s in range(20)]
    for each in shortcut.split():
        monkeypatch.setattr(f"shortlist.mechanisms.peel.{each}", lambda *arguments: None)
    again = [top_k(counts, k=6, epsilon=3, mechanism="pnf-peel", bits=SeededBits(s)).tolist() for s in range(20)]
    assert again == answers


def test_two_sums_bound_the_sum_of_logarithms():
    """S(x) lies between the bounds that Σ c and Σ c² give, for any weights."""
    rng = np.random.default_rng(8)
    undecided = 0
    with ctx.workprec(128):
        for seed in range(300):
            bits = SeededBits(seed)
            decays = [decay(Fraction(1, 5), int(loss)) for loss in rng.integers(0, 12, size=rng.integers(1, 9))]
            decays.append(arb(1))
            height, coin = Uniform(bits), Uniform(bits)
            threshold = (1 - coin.ball()) / (1 - decays[0] * coin.ball())
            truth = sum((-(-each * threshold).log1p() for each in decays), arb(0)) > -height.ball().log()
            sums = sum(decays, arb(0)), sum((each**2 for each in decays), arb(0))
            quick = accept_by_sums(height, coin, decays[0], *sums)
            undecided += quick is None
            assert quick is None or quick == truth or decays[0] == 1
    assert undecided < 30


def test_rounds_add_up():
    """k rounds of ε/k have ρ = ε tanh(ε/2k), k times that of one round."""
    assert PNFPeel(k=8, epsilon=2).guarantee.rho == 8 * PNFPeel(k=1, epsilon="0.25").guarantee.rho
    assert float(PNFPeel(k=8, epsilon=2).guarantee.rho) == pytest.approx(2 * np.tanh(1 / 8), rel=1e-8)
    assert ball(PNFPeel(k=8, epsilon=2).guarantee.epsilon) == 2


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "1000"])
def test_extreme_epsilons_work(epsilon):
    """Counts close and far, and any epsilon: a list comes out."""
    for counts in (np.array([10**18, 10**6, 900, 5, 5, 0]), np.arange(500), np.zeros(40, dtype=int)):
        chosen = top_k(counts, k=4, epsilon=epsilon, mechanism="pnf-peel", bits=SeededBits(1))
        assert len(set(chosen.tolist())) == 4
