"""Numbers that arithmetic is likely to get wrong: the law stays exact, and every loop ends."""

import contextlib
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from chi_square import p_value
from flint import arb, ctx, fmpq
from laws import exponential, losses, sequences

from shortlist import top_k
from shortlist.exact.balls import enclose_exp_minus, use_precision
from shortlist.exact.choice import quantile
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import MECHANISMS, Joint, build_mechanism
from shortlist.profile import Profile
from shortlist.testing import SeededBits

LARGEST = 2**63 - 1
NEEDED = {
    "cdp-peel": {"delta": "1e-6"},
    "noisy-counts": {"votes_per_person": 1},
    "limited-domain": {"delta": "1e-6"},
    "threshold": {"delta": "1e-6", "votes_per_person": 1},
    "stable": {"delta": "1e-6"},
}
HISTOGRAMS = {
    "largest counts": [LARGEST, LARGEST, LARGEST - 1, LARGEST - 2**62, 1, 0],
    "one giant": [LARGEST, 0, 0, 0],
    "all equal": [7] * 30,
    "close and far": [2**40, 2**40 - 1, 2**20, 3, 3, 0],
}
EPSILONS = ["1e-300", "1e-9", "1/3", "1e6"]


class CountedBits(SeededBits):
    """Bits that end after many bytes, so that a loop that does not end is noticed."""

    limit = 2_000_000

    def draw(self, count):
        self.limit -= count
        assert self.limit > 0, "more random bytes than any draw needs"
        return super().draw(count)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_every_draw_ends(name):
    """For every mechanism, extreme counts and extreme epsilons, a list comes out of few random bytes."""
    for counts in HISTOGRAMS.values():
        for epsilon in EPSILONS:
            for k in (1, 3):
                mechanism = build_mechanism(name, k=k, epsilon=epsilon, **NEEDED.get(name, {}))
                chosen = top_k(np.array(counts), mechanism=mechanism, bits=CountedBits(k))
                assert len(set(chosen.tolist())) == len(chosen)
                assert len(chosen) == k or not mechanism.needs_domain


@pytest.mark.parametrize("name", list(MECHANISMS))
@pytest.mark.parametrize("byte", [b"\x00", b"\xff", b"\x80"])
def test_extreme_bits_end_or_ask_for_more(name, byte):
    """Where all bits are equal, a draw ends, or goes on asking for bits: it never crashes."""

    class Constant:
        secure = False
        # Each bit that limited-domain asks for makes its next decision longer.
        limit = 24 if name == "limited-domain" else 100

        def draw(self, count):
            self.limit -= 1
            if self.limit < 0:
                raise EOFError
            return byte * count

    mechanism = build_mechanism(name, k=2, epsilon=1, **NEEDED.get(name, {}))
    prepared = mechanism.prepare(Profile.of(np.array([5, 3, 3, 0])))
    with contextlib.suppress(EOFError):
        assert len(prepared.draw(Constant()).levels) == 2 or not mechanism.needs_domain


@pytest.mark.parametrize("shift", [0, 2**62, LARGEST - 5])
@pytest.mark.parametrize("epsilon", ["1", "1/3", "0.7"])
def test_large_counts_have_the_law_of_small_ones(shift, epsilon):
    """Only differences of counts matter: the law near 2^63 is the law near 0, draw by draw."""
    small = np.array([5, 3, 3, 0])
    for name in ("joint", "margin-joint", "pnf-joint", "pnf-peel", "subset", "fastjoint"):
        lists = [
            [top_k(counts, k=2, epsilon=epsilon, mechanism=name, bits=SeededBits(seed)).tolist() for seed in range(40)]
            for counts in (small, small + shift)
        ]
        assert lists[0] == lists[1], name


@dataclass(frozen=True)
class Weight:
    """A cell of weight e^(−x)."""

    x: Fraction

    def weight(self):
        return enclose_exp_minus(self.x)

    def split(self):
        return None


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 2**60), Fraction(1, 2**61 + 1)])
def test_weights_that_tie_or_almost_tie_have_an_exact_border(x):
    """Numbers that differ from the border by one part in 2^200 are on their side of it, also where weights tie."""
    cells = [Weight(Fraction(0)), Weight(x)]
    with use_precision(400):
        border = int((2**200 / (1 + enclose_exp_minus(x))).floor().unique_fmpz() or 2**199)
    for number, wanted in ((border - 1, cells[0]), (border + 1, cells[1])):
        stream = (number << (2048 - 200)).to_bytes(256)
        assert quantile(Uniform(Replay(stream)), cells) is wanted


class Replay:
    """Bits that were written beforehand."""

    secure = False

    def __init__(self, stream):
        self.stream = stream

    def draw(self, count):
        drawn, self.stream = self.stream[:count], self.stream[count:]
        assert len(drawn) == count
        return drawn


def test_numbers_of_lists_beyond_a_double_have_the_right_law():
    """d!/(d−k)! is far beyond a double; the chance of the true list is still that of the formula."""
    counts, k = np.append(np.full(200, 4000), np.zeros(1800, dtype=int)), 200
    prepared = Joint(k=k, epsilon="1").prepare(Profile.of(counts))
    with ctx.workprec(400):
        q = (-arb(fmpq(1, 2))).exp()
        # Lists of the 200 leading items have loss 0, and all others 4000.
        leading, every = arb(fmpq(1)), arb(1)
        for j in range(k):
            leading *= 200 - j
            every *= 2000 - j
        chance = leading / (leading + (every - leading) * q**4000)
    assert every > arb(10) ** 600
    bits, draws = SeededBits(2), 400
    inside = sum(bool((prepared.draw(bits).levels == 4000).all()) for _ in range(draws))
    assert abs(inside / draws - float(chance.mid())) < 0.15
    assert 0 <= float(chance.mid()) <= 1


@pytest.mark.parametrize("epsilon", ["0.1", "1/3", "0.30000000000000004"])
def test_an_epsilon_without_a_binary_half_has_its_own_law(epsilon):
    """ε/2 is no binary fraction; outputs follow the law of the rational that was written."""
    histogram, bits = (30, 20, 10, 0), SeededBits(9)
    mechanism = Joint(k=2, epsilon=epsilon)
    prepared = mechanism.prepare(Profile.of(np.array(histogram)))
    drawn = Counter(tuple(prepared.draw(bits).levels.tolist()) for _ in range(4000))
    with use_precision(128):
        rate = Fraction(epsilon) / 2
        law = [float(p.mid()) for p in exponential(losses(histogram, 2), rate)]
    observed = [drawn[tuple(histogram[item] for item in each)] for each in sequences(4, 2)]
    assert p_value(observed, law) > 1e-9
