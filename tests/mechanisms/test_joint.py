"""Joint, FastJoint, Margin-Joint and PNF-Joint: one sampler, four laws."""

import itertools
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from contract import RELATIONS, LawContract, MechanismContract, Subject
from flint import arb, arb_poly, ctx
from laws import exponential, losses, margin, margin_losses, neighbours, random_histograms, sequences, small_histograms
from levels import UpperLevels
from mixtures import (
    GIANT,
    ZIPF,
    bound_doubt,
    check_borders,
    doubting,
    draw_lists,
    every_doubt,
    every_shape,
    falling_positions,
    implied_law,
)
from scipy.special import logsumexp

from shortlist import prepare, top_k
from shortlist.errors import ParameterError
from shortlist.exact.thinning import accept_by_balls
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import FastJoint, Joint, MarginJoint, PNFJoint
from shortlist.mechanisms.block_mixture import STEEP_BITS
from shortlist.mechanisms.joint import JointDraws, Lists, MarginDraws
from shortlist.mechanisms.stated import decay, flip_round
from shortlist.profile import Profile
from shortlist.testing import SeededBits


class JointInWideBlocks(Joint):
    """With at most three blocks almost all of them hold several losses, so lists are rejected."""

    __slots__ = ()

    name = "joint-in-wide-blocks"

    def _prepare(self, levels):
        return JointDraws(levels, k=self.k, rate=self.rate, most_blocks=3)


class MarginJointInWideBlocks(MarginJoint):
    __slots__ = ()

    name = "margin-joint-in-wide-blocks"

    def _prepare(self, levels):
        return MarginDraws(JointDraws(levels, k=self.k, rate=self.rate, most_blocks=3))


def lists_of(histogram, k):
    return falling_positions(histogram, sequences(len(histogram), k))


class JointLaw(Subject):
    kind = Joint

    def make(self, k, epsilon, relation="add-remove"):
        return self.kind(k=k, epsilon=epsilon, neighbours=relation)

    def implied_law(self, mechanism, histogram):
        return implied_law(mechanism.prepare(Profile.of(np.array(histogram))), lists_of(histogram, mechanism.k))


class TestJoint(JointLaw, MechanismContract):
    """Joint as it is."""


class TestJointInWideBlocks(JointLaw, LawContract):
    """Joint with rejections."""

    kind = JointInWideBlocks
    draws = 3_000


class TestFastJoint(JointLaw, MechanismContract):
    def make(self, k, epsilon, relation="add-remove"):
        return FastJoint(k=k, epsilon=epsilon, neighbours=relation, beta=Fraction(1, 4))


class MarginJointLaw(JointLaw):
    kind = MarginJoint
    sampled = (((5, 3, 3, 0), 2), ((9, 6, 4, 1, 0), 3), ((4, 2, 1), 3), ((7, 4), 1))

    def implied_law(self, mechanism, histogram):
        prepared = mechanism.prepare(Profile.of(np.array(histogram)))
        bonus = prepared.enclose_chance(12) if margin(histogram, mechanism.k) else arb(0)
        law = implied_law(prepared._joint, lists_of(histogram, mechanism.k))
        shares = zip(law, losses(histogram, mechanism.k), strict=True)
        return [(1 - bonus) * share + (0 if loss else bonus) for share, loss in shares]


class TestMarginJoint(MarginJointLaw, MechanismContract):
    """Margin-Joint as it is."""


class TestMarginJointInWideBlocks(MarginJointLaw, LawContract):
    """Margin-Joint with rejections."""

    kind = MarginJointInWideBlocks
    draws = 3_000


def singles(crowds):
    """Split crowds until each has one loss."""
    while any(crowd.first != crowd.last for crowd in crowds):
        crowds = [part for crowd in crowds for part in (crowd.split() or [crowd])]
    return crowds


class TestPNFJoint(JointLaw, MechanismContract):
    kind = PNFJoint
    random_cases = (120, 5)
    private_cases = (12, 4)

    def implied_law(self, mechanism, histogram):
        """Thin Joint's law at height X: ∫ G(x) c_i / (1 − c_i x) dx, with G and the c_i from the mechanism's crowds."""
        crowds = singles(mechanism.prepare(Profile.of(np.array(histogram))).crowds)
        law = {}
        for crowd in crowds:
            quotient = arb_poly([1])
            for other in crowds:
                quotient *= arb_poly([1, -other.decay()]) ** (other.members - (other is crowd))
            law[crowd.first] = crowd.decay() * quotient.integral()(arb(1))
        return [law[loss] for loss in losses(histogram, mechanism.k)]


@pytest.mark.parametrize("tau", [None, 3])
def test_numbers_are_those_of_enumeration(tau):
    """N_r counts the lists of loss at most r, exactly and as floats, by a table or by search."""
    for histogram in [*small_histograms(), *random_histograms(80, 6, seed=2)]:
        profile, top = Profile.of(np.array(histogram)), sorted(histogram, reverse=True)
        for k in range(1, min(3, len(histogram)) + 1):
            found = Lists(profile, k, reach=10**6, tau=tau)
            exact = np.array(losses(histogram, k))
            widest = int(exact.max())
            assert found.horizon == (widest if tau is None else min(widest, tau))
            assert found.top.tolist() == top[:k]
            for r in (-1, 0, 1, 2, 3, 5, 8, 9, 40, 41, 300):
                assert found.number(0, r) == (len(exact) if r >= found.horizon else (exact <= r).sum())
            check_floats(found, np.unique(np.minimum([0, 1, 2, 5, 9, 40, 41, 300], widest)))


@pytest.mark.parametrize("k", [1, 6, 200])
@every_shape
def test_numbers_are_within_their_bound(counts, k):
    """Losses at equal distances and at any distances: each N_r is near enough."""
    profile = Profile.of(counts)
    found = Lists(profile, min(k, len(counts)), reach=10**6)
    reach = min(found.horizon, 60)
    for asked in (range(0, reach + 1, 3), [0, 1, 5, 6, 60], [*range(0, 50, 7), 51], [4, 9], [8]):
        check_floats(found, np.unique(np.minimum(list(asked), reach)))
    check_floats(Lists(profile, found.k, reach=reach), np.arange(reach + 1))


def test_a_long_list_is_counted_within_the_bound():
    """The same with thousands of factors, for all lists, too."""
    profile = Profile.of(np.random.default_rng(3).integers(0, 50_000, size=5000))
    found = Lists(profile, 4000, reach=50_000)
    check_floats(found, np.arange(2000, 3000, 7), [0, 71, 142])
    everything = count(found, [found.horizon])
    with ctx.workprec(200):
        value = arb(float(everything.mantissa[0])) * arb(2) ** int(everything.exponent[0])
        assert abs(value / found.number(0, 2**63 - 1) - 1) <= arb(everything.error)


def count(found, losses):
    """N_r of rising losses r as floats: each as a block of its own."""
    blocks = np.array([np.zeros(len(losses)), losses, losses], dtype=np.int64)
    highest, lowest = (found.count_blocks(blocks[:, np.newaxis])[place] for place in (0, 1))
    assert (highest.mantissa == lowest.mantissa).all()
    assert (highest.exponent == lowest.exponent).all()
    return highest


def check_floats(found, asked, places=None):
    numbers = count(found, asked)
    with ctx.workprec(200):
        for place in range(len(asked)) if places is None else places:
            value = arb(float(numbers.mantissa[place])) * arb(2) ** int(numbers.exponent[place])
            exact = int(
                np.prod(found.count_allowed(0, asked[place : place + 1])[0].astype(object) - np.arange(found.k))
            )
            assert exact == found.number(0, int(asked[place]))
            assert abs(value / exact - 1) <= arb(numbers.error)


@pytest.mark.parametrize("floor", [0, 3, 8])
def test_a_profile_that_stops_early_tells_what_a_complete_one_tells(floor):
    """Losses within reach are counted alike, and no loss is taken for the largest."""
    counts = np.array([9, 9, 8, 5, 3, 3, 1, 0, 0])
    profile = Profile.of(counts)
    whole = Lists(profile, 3, reach=20)
    reach = 8 - floor
    part = Lists(Profile.of(counts[counts >= floor], d=len(counts)), 3, reach=reach)
    for r in range(reach + 1):
        assert part.number(0, r) == whole.number(0, r)
    assert part.horizon == (9 if floor == 0 else 2**63 - 1)
    assert count(part, range(reach + 1)).align(0).tolist() == [whole.number(0, r) for r in range(reach + 1)]


def log_laws(histograms, k, rate, tau):
    """The logarithms of all probabilities, a row for each histogram; in floats, for many histograms at once."""
    order = np.array(sequences(histograms.shape[1], k))
    top = -np.sort(-histograms, axis=1)[:, None, :k]
    scores = -float(rate) * np.minimum((top - histograms[:, order]).max(axis=2), np.inf if tau is None else tau)
    return scores - logsumexp(scores, axis=1, keepdims=True)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", [Joint, FastJoint])
def test_no_neighbour_of_larger_histograms_is_told_apart(mechanism, relation):
    """All neighbours of 60 random histograms with d up to 7 stay within e^epsilon, and some come near it."""
    widest = 0.0
    for histogram in random_histograms(60, 7, seed=17):
        chosen = mechanism(k=min(3, len(histogram)), epsilon=1, neighbours=relation)
        tau = chosen.tau(len(histogram)) if mechanism is FastJoint else None
        laws = log_laws(np.array([histogram, *neighbours(histogram, relation)]), chosen.k, chosen.rate, tau)
        widest = max(widest, float(np.abs(laws[1:] - laws[0]).max()))
    assert 0.5 < widest <= 1 + 1e-9


def test_beta_zero_is_joint():
    """FastJoint with beta 0 has no threshold and draws what Joint draws."""
    counts = np.arange(50) ** 2 % 37
    assert FastJoint(k=5, epsilon=1, beta=0).tau(50) is None
    ours = top_k(counts, k=5, epsilon=1, mechanism="fastjoint", beta=0, bits=SeededBits(4))
    assert (ours == top_k(counts, k=5, epsilon=1, mechanism="joint", bits=SeededBits(4))).all()


def test_tau_is_the_papers():
    """τ = ⌈(2Δ/ε) ln(d!/(d−k)! / β)⌉, and replace doubles Δ."""
    exact = 2 * (np.log(np.arange(4901, 5001, dtype=float)).sum() + np.log(1024))
    assert FastJoint(k=100, epsilon=1).tau(5000) == int(np.ceil(exact))
    assert FastJoint(k=100, epsilon=1, neighbours="replace").tau(5000) == int(np.ceil(2 * exact))


@pytest.mark.parametrize("beta", [1, -0.1, float("nan"), "x", 2])
def test_refuses_a_wrong_beta(beta):
    """A failure probability lies in [0, 1)."""
    with pytest.raises(ParameterError, match="beta"):
        FastJoint(k=1, epsilon=1, beta=beta)


@every_shape
@every_doubt
@pytest.mark.parametrize("options", [{}, {"tau": 40}, {"most_blocks": 3}], ids=["joint", "capped", "wide"])
def test_balls_find_the_block_that_floats_find(counts, doubt, options):
    """Which block a number hits is a fact: the same bits give the same lists if floats are hardly trusted."""
    levels = Profile.of(counts)
    sure, doubtful = (doubting(JointDraws(levels, k=6, rate=Fraction(1, 2), **options), each) for each in (0.0, doubt))
    assert draw_lists(doubtful) == draw_lists(sure)


@every_shape
@pytest.mark.parametrize("options", [{}, {"tau": 40}, {"most_blocks": 3}], ids=["joint", "capped", "wide"])
def test_borders_are_within_their_bound(counts, options):
    """Every float border lies within the proven slack of the exact one."""
    check_borders(JointDraws(Profile.of(counts), k=6, rate=Fraction(1, 2), **options))


def test_floats_decide_almost_every_draw():
    """The proven doubt about a draw is small, and no draw of thousands asks for more bits than its own."""
    prepared = Joint(k=50, epsilon=1).prepare(Profile.of((10**5 / np.arange(1, 2000)).astype(int)))
    assert bound_doubt(prepared._table) < 1e-8
    prepared.draw_many(3000, SeededBits(8))
    assert "all_candidates" not in vars(prepared)


class Leading:
    """Some given bytes, then a seeded stream."""

    def __init__(self, first):
        self.first, self.rest = first, SeededBits(1)

    def draw(self, count):
        first, self.first = self.first[:count], self.first[count:]
        return first + self.rest.draw(count - len(first))


def test_a_draw_beyond_the_table_is_resolved():
    """A number that falls on losses left out of the table finds them with balls."""
    prepared = Joint(k=60, epsilon="0.1").prepare(Profile.of(np.arange(3000) // 3))
    ((_, lists, group, firsts, lasts),) = prepared._choose(1, Leading(b"\xff" * 8))
    assert lists is prepared.all_candidates
    assert int(firsts[0][0]) not in prepared.blocks[1, 0].tolist()
    assert lists.number(group, int(firsts[0][0])) == lists.number(group, int(lasts[0][0]))


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "1", "100"])
def test_a_block_is_not_steep(epsilon):
    """In a block of several losses, N_r grows by less than a factor that bounds the rejections."""
    counts = np.random.default_rng(4).integers(0, 100_000, size=3000)
    prepared = Joint(k=3000, epsilon=epsilon).prepare(Profile.of(counts))
    ranges = sorted(zip(*prepared.blocks[1:, 0].tolist(), strict=True))
    assert all(before < start for (_, before), (start, _) in pairwise(ranges))
    # A fifth of the blocks is enough. At epsilon 100, losses are few, and every block is a single one.
    wide = [(start, last) for start, last in ranges if last > start and start % 5 == 0]
    assert bool(wide) == (epsilon != "100")
    for start, last in wide:
        assert prepared.candidates.number(0, last) // prepared.candidates.number(0, start) < 1 << (STEEP_BITS + 1)


@pytest.mark.parametrize("epsilon", ["1e-19", "1e-30"])
def test_borders_of_blocks_stay_whole_numbers(epsilon):
    """A block holds no more losses than there are, however slowly weights fall: sums of losses fit into 64 bits."""
    counts = np.array([2**62] * 10 + [0] * 9990)
    prepared = Joint(k=10, epsilon=epsilon).prepare(Profile.of(counts))
    lasts = np.sort(prepared.blocks[2, 0])
    assert lasts.dtype == np.int64
    assert (np.diff(lasts) > 0).all()
    assert int(lasts[-1]) == 2**62
    assert prepared.draw(SeededBits(1)).levels.tolist() == [0] * 10


@pytest.mark.parametrize("name", ["joint", "fastjoint", "margin-joint", "pnf-joint"])
@pytest.mark.parametrize("epsilon", ["1e-300", "1e-12", "1e-3", "0.1", "100", "1e6"])
def test_extreme_epsilons_work(name, epsilon):
    """Tiny and huge epsilons give a list, on wide and on narrow counts."""
    for counts in ([2**63 - 1, 2**62, 2**40, 10**6, 5, 5, 0], np.arange(500), np.zeros(10, dtype=int)):
        chosen = top_k(np.array(counts), k=4, epsilon=epsilon, mechanism=name, bits=SeededBits(1))
        assert len(set(chosen.tolist())) == 4


def test_a_huge_epsilon_gives_the_true_ranking():
    """With epsilon 1e6 the list is the true one."""
    counts = np.array([3, 1, 4, 15, 9, 2, 6, 5])
    assert top_k(counts, k=8, epsilon=10**6, mechanism="joint").tolist() == [3, 4, 6, 7, 2, 0, 5, 1]


@pytest.mark.parametrize("kind", [Joint, FastJoint, MarginJoint])
def test_the_chance_of_the_exact_list_is_that_of_the_law(kind):
    """The probability of a list with the true counts follows from the stated law."""
    for histogram, k in [((5, 3, 3, 0), 2), ((9, 6, 4, 1), 3), ((7, 7, 7), 2), ((4, 2), 2)]:
        mechanism, top = kind(k=k, epsilon=1), sorted(histogram, reverse=True)[:k]
        chance = mechanism.prepare(Profile.of(np.array(histogram))).compute_exact_chance()
        stated = sum(
            float(p.mid())
            for output, p in mechanism.state_law(histogram)
            if [histogram[item] for item in output.items] == top
        )
        assert chance == pytest.approx(stated, rel=1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_loss_of_a_list_moves_by_the_sensitivity_at_most(relation):
    """The step of the proof of Margin-Joint that the guarantee stands on, for all neighbours."""
    moves = set()
    for here in [*small_histograms(), *random_histograms(60, 5, seed=23)]:
        for k in range(1, min(3, len(here)) + 1):
            ours = margin_losses(here, k)
            for there in neighbours(here, relation):
                moves |= {abs(a - b) for a, b in zip(ours, margin_losses(there, k), strict=True)}
    assert max(moves) == (1 if relation == "add-remove" else 2)


def test_the_true_list_gains_and_every_other_loses():
    """Margin-Joint: no other list is likelier than with Joint, and the true list is not less likely."""
    gained = 0
    with ctx.workprec(200):
        for histogram in [*small_histograms(), *random_histograms(100, 5, seed=29)]:
            for k in range(1, min(3, len(histogram)) + 1):
                ours = exponential(margin_losses(histogram, k), Fraction(1, 2))
                joint = exponential(losses(histogram, k), Fraction(1, 2))
                true = [loss == 0 for loss in losses(histogram, k)]
                gained += any(p > q for p, q in zip(ours, joint, strict=True))
                assert not any(p > q for p, q, best in zip(ours, joint, true, strict=True) if not best)
                assert not any(p < q for p, q, best in zip(ours, joint, true, strict=True) if best)
    assert gained > 100


def test_without_a_lead_margin_joint_is_joint():
    """With a tie among the top k + 1 counts, the same bits give the list of Joint."""
    counts = np.arange(100) // 2
    for seed in range(10):
        ours = top_k(counts, k=4, epsilon=1, mechanism="margin-joint", bits=SeededBits(seed))
        assert (ours == top_k(counts, mechanism=Joint(k=4, epsilon=1), bits=SeededBits(seed))).all()


GAPS = np.arange(400) * 3
FAR = np.array([2**63 - 1, 2**62, 2**61, 2**60, 2**59, 2**58, 0])


@pytest.mark.parametrize("counts", [GAPS, ZIPF, GIANT, FAR], ids=["gaps", "zipf", "giant", "far"])
@pytest.mark.parametrize("k", [1, 6])
def test_balls_decide_about_the_bonus_as_floats_do(counts, k):
    """The same bits give the same lists if every decision about the bonus is left to balls."""
    joint = JointDraws(Profile.of(counts), k=k, rate=Fraction("0.15"))
    sure, doubtful = (doubting(MarginDraws(joint), doubt) for doubt in (0.0, 2.0))
    assert draw_lists(doubtful, 20) == draw_lists(sure, 20)
    many = [[picks.ranks.tolist() for picks in each.draw_many(20, SeededBits(7))] for each in (sure, doubtful)]
    assert many[0] == many[1]


@pytest.mark.parametrize("lead", [1, 30, 300, 10**6])
@pytest.mark.parametrize("gap", [2, 40, 10**7])
def test_a_profile_that_stops_early_changes_no_chance(lead, gap):
    """If h_(k+1) is out of reach, the bonus is enclosed all the same, and exactly with all levels."""
    counts = np.array([gap + lead + 3, lead + 3, 3, 2, 0])
    with ctx.workprec(200):
        whole, part = (MarginJoint(k=2, epsilon=1).prepare(each) for each in (Profile.of(counts), UpperLevels(counts)))
        exact = whole.enclose_chance(6)
        assert part.enclose_chance(0).contains(exact)
        assert part.enclose_chance(0).rad() < 2.0**-30
        assert part.enclose_chance(6).overlaps(exact)
        assert part.enclose_chance(6).rad() < 1e-30


def test_flip_law_is_the_process_itself():
    """The integral is permute-and-flip: a uniform order, and a coin for each until one shows heads."""
    with ctx.workprec(200):
        decays = [decay(Fraction(1, 2), loss) for loss in (0, 1, 1, 3)]
        law = [arb(0)] * 4
        for order in itertools.permutations(range(4)):
            reached = arb(1) / 24
            for item in order:
                law[item] = law[item] + reached * decays[item]
                reached *= 1 - decays[item]
        assert all(ours.overlaps(theirs) for ours, theirs in zip(flip_round(decays), law, strict=True))


def test_balls_look_at_few_losses():
    """A decision by balls counts the lists of some dozens of losses, where 150,000 losses are within reach."""
    counts = (150_000 * np.exp(-np.arange(1000) / 100)).astype(np.int64)
    prepared = PNFJoint(k=3, epsilon="0.001").prepare(Profile.of(counts))
    bits = SeededBits(4)
    known = prepared._joint.candidates._known
    for _ in range(20):
        known.clear()
        accept_by_balls(Uniform(bits), Uniform(bits), Fraction(1, 2), prepared.crowds)
        assert len(known) < 300


def test_very_long_lists_are_counted_exactly():
    """The number of lists of 100,000 items has all its digits, and a decision by balls can use it."""
    k, allowed = 100_000, 200_000
    profile = Profile.of(np.repeat([9, 5, 0], [1, allowed - 1, allowed]))
    lists = Lists(profile, k, reach=20)
    assert [lists.number(0, r) for r in (3, 4)] == [math.perm(allowed - 1, k - 1), math.perm(allowed, k)]
    prepared = PNFJoint(k=k, epsilon=1).prepare(profile)
    assert len(prepared.draw(SeededBits(2)).levels) == k


def test_pnf_joint_near_a_power_of_two():
    """Where the weight of all lists is easily overrated, the law is still the stated one."""
    counts = np.array([16] + [1] * 65536 + [0])
    prepared = PNFJoint(k=1, epsilon="1.38629436").prepare(Profile.of(counts))
    best = sum(int(picks.levels[0]) == 16 for picks in prepared.draw_many(4000, SeededBits(5)))
    assert abs(best / 4000 - 0.4323) < 0.03


def test_a_selector_draws_what_its_rows_are():
    """One list is the first row: a selector and its rows agree where one row is drawn."""
    selector = prepare(np.arange(60) % 17, k=4, epsilon=1, mechanism="joint")
    assert selector.draw(SeededBits(3)).tolist() == selector.draw_many(1, SeededBits(3))[0].tolist()


def test_counts_are_sent_to_the_functions_that_take_them():
    """A mechanism prepares a profile. The error for an array of counts names what to call, and shows no count."""
    mechanism = FastJoint(k=2, epsilon=1)
    with pytest.raises(ParameterError, match=r"not ndarray\.\nHint: counts go to `shortlist\.top_k") as caught:
        mechanism.prepare(np.array([987654, 20, 500]))
    assert "987654" not in str(caught.value)
    assert top_k(np.array([987654, 20, 500]), mechanism=mechanism).tolist() == [0, 2]
