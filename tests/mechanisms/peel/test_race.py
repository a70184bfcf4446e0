"""Arrivals of a race: floats sort them only where floats can tell, and any time t leaves the law."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from laws import p_value
from levels import UpperLevels
from peels import exponential_round, flip_round, peel_law

from shortlist.exact.logarithms import compute_exponentials, compute_negative_logs
from shortlist.exact.quick_thinning import accept_by_logs, accept_by_power_sums, accept_by_two_sums, bound_targets
from shortlist.exact.thinning import accept_by_balls
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import CDPPeel, PNFPeel
from shortlist.mechanisms.peel import peeling, race, thinned_run
from shortlist.mechanisms.peel.ranges import cover_all_left
from shortlist.profile import Profile
from shortlist.testing import SeededBits

COUNTS = np.array([4, 4, 3, 1])
PEELS = {
    "cdp": (CDPPeel(k=2, epsilon=2, delta="1e-99"), exponential_round),
    "pnf": (PNFPeel(k=2, epsilon=2), flip_round),
}
every_peel = pytest.mark.parametrize(("mechanism", "round_law"), PEELS.values(), ids=PEELS)


def count_lists(mechanism, draws, seed):
    prepared, bits = mechanism.prepare(Profile.of(COUNTS)), SeededBits(seed)
    return Counter(tuple(prepared.draw_positions(bits)) for _ in range(draws))


@every_peel
@pytest.mark.parametrize("place", [None, (0, 0.05), (1, 0.9), (2, 0.3)], ids=str)
def test_any_time_leaves_the_law(mechanism, round_law, place, monkeypatch):
    """Whatever the pivot and t are, lists have the law of the rounds, and not one with an epsilon 30 % off."""
    monkeypatch.setattr(race, "_choose_time", lambda *arguments: place)
    seen = count_lists(mechanism, 3000, 3)
    lists = list(itertools.permutations(range(4), 2))
    for factor, right in ((Fraction(1), True), (Fraction(7, 10), False), (Fraction(13, 10), False)):
        law = peel_law(COUNTS.tolist(), 2, factor, round_law)
        value = p_value([seen[each] for each in lists], [float(each.mid()) for each in law])
        assert value > 1e-9 if right else value < 1e-9


@every_peel
def test_items_out_of_reach_get_their_share(mechanism, round_law, monkeypatch):
    """If hardly any level is within reach, lists have the law all the same."""
    monkeypatch.setattr(race, "_choose_time", lambda *arguments: (0, 0.4))
    monkeypatch.setattr(peeling, "_OUT_OF_REACH_BITS", -1.9)
    monkeypatch.setattr(peeling, "OMITTED", 4.0)
    monkeypatch.setattr(race, "OMITTED", 4.0)
    monkeypatch.setattr(thinned_run, "OMITTED", 4.0)
    prepared, bits = mechanism.prepare(Profile.of(COUNTS)), SeededBits(8)
    prepared.peeling = peeling.PeelLevels(UpperLevels(COUNTS), k=2, rate=Fraction(1))
    assert not prepared.peeling.shown.profile.is_complete
    seen = Counter(tuple(prepared.draw_positions(bits)) for _ in range(400))
    law = peel_law(COUNTS.tolist(), 2, Fraction(1), round_law)
    lists = itertools.permutations(range(4), 2)
    assert p_value([seen[each] for each in lists], [float(each.mid()) for each in law]) > 1e-9


@every_peel
@pytest.mark.parametrize("counts", [COUNTS, np.arange(300) % 41, np.array([2**62, 2**61, 5, 4, 0, 0])], ids=len)
def test_wide_errors_change_no_order(mechanism, round_law, counts, monkeypatch):
    """Which item arrives first is a fact: balls find the order that floats find, for the same bits."""
    prepared = mechanism.prepare(Profile.of(counts))
    answers = [prepared.draw_positions(SeededBits(seed)) for seed in range(25)]
    monkeypatch.setattr(race, "_KEY_ERROR", 0.5)
    assert [prepared.draw_positions(SeededBits(seed)) for seed in range(25)] == answers


@every_peel
def test_one_bound_for_all_errors_changes_no_order(mechanism, round_law, monkeypatch):
    """If every race computes the error of each key, lists are the same, for the same bits."""
    prepared = mechanism.prepare(Profile.of(np.arange(300) % 41))
    answers = [prepared.draw_positions(SeededBits(seed)) for seed in range(40)]
    monkeypatch.setattr(race, "_LARGE_KEY", -1e9)
    assert [prepared.draw_positions(SeededBits(seed)) for seed in range(40)] == answers


def test_errors_of_keys_enclose_what_further_bits_can_give():
    """Keys of the times that small, middle and large numbers give are within their errors."""
    prepared = PNFPeel(k=3, epsilon=3).prepare(Profile.of(np.arange(60)))._race
    edges = np.array([2**64 - 2**40, 2**63, 2**40, 2**64 - 2**29, 2**29, 2**64 - 2**20, 3], dtype=np.uint64)
    far, near = 2, prepared._near
    assert near > 1
    rng = np.random.default_rng(4)
    for _ in range(20):
        words = np.concatenate([edges[[2, 4]], rng.choice(edges, prepared._turns * near)])
        waits = compute_exponentials(words[far:]).reshape(prepared._turns, near)
        keys = prepared._find_keys(words[:far], waits)
        errors = prepared._bound_errors(keys, words, waits)
        for further in (arb(0), arb(1) - arb(2) ** -60):
            with ctx.workprec(200):
                numbers = [(arb(word) + further) * arb(2) ** -64 for word in words.tolist()]
                for index in np.flatnonzero(np.isfinite(errors[:-1])).tolist():
                    assert abs(find_key(prepared, numbers, index, far) - arb(keys[index])) < arb(errors[index]), index


def find_key(prepared, numbers, index, far):
    """Enclose the key e + 2m of the time m · 2^e of an arrival."""
    if index < far:
        time = numbers[index] * arb(prepared._time)
    else:
        turn, item = divmod(index - far, prepared._near)
        waits = [-numbers[far + each * prepared._near + item].log() for each in range(turn + 1)]
        votes = int(prepared._profile.values[prepared._levels[item]]) - prepared._pivot_count
        time = sum(waits, arb(0)) * arb(-float(prepared._peeling.rate) * votes).exp()
    exponent = math.floor(float(time.log() / arb(2).log())) + 1
    return exponent + 2 * time / arb(2) ** exponent


def test_a_time_is_chosen_so_that_few_arrivals_are_too_many():
    """On a long list of counts, t lets between k and 3k items arrive in almost every race."""
    counts = (10**6 / np.arange(10, 20_000)).astype(np.int64)
    prepared = CDPPeel(k=100, epsilon=1, delta="1e-6").prepare(Profile.of(counts))
    numbers = [len(set(prepared._race.draw(SeededBits(seed)).positions.tolist())) for seed in range(60)]
    assert sum(100 <= number <= 300 for number in numbers) >= 55


def test_exponential_numbers_are_within_their_error():
    """−ln U encloses what any further bits of U can give, for small, middle and large U."""
    edges = [1, 2, 2**20, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**20, 2**64 - 2**11, 2**64 - 2, 2**64 - 1]
    steps = [(i << 53) + j for i in (1, 511, 512, 700, 1023) for j in (-1, 0, 1)]
    random = np.random.default_rng(1).integers(0, 2**64, size=300, dtype=np.uint64)
    words = np.array([*edges, *steps, *random], dtype=np.uint64)
    with ctx.workprec(200):
        for word, wait in zip(words.tolist(), compute_exponentials(words).tolist(), strict=True):
            for share in (arb(0), arb(1) - arb(2) ** -60):
                true = -((arb(word) + share) * arb(2) ** -64).log()
                near = true * arb(2) ** -46 + arb(2) ** -51 + 1 / arb(word)
                assert abs(arb(wait) - true) < (near if wait >= 2.0**-40 else arb(2) ** -45)
    assert np.isfinite(compute_exponentials(np.zeros(1, dtype=np.uint64))).all()


def test_quick_decisions_are_those_of_balls():
    """Sums decide a proposal as balls do, or not at all, and most of the time they decide."""
    rng, undecided, coarse, rate = np.random.default_rng(5), 0, 0, Fraction(1, 6)
    for seed in range(200):
        counts = np.sort(rng.integers(0, 12, size=rng.integers(2, 12)))[::-1]
        loss = int(counts[0] - rng.choice(counts[1:]))
        if not loss:
            continue
        bits = SeededBits(seed)
        height, coin = Uniform(bits), Uniform(bits)
        decays = np.exp(-float(rate) * (counts[0] - counts))
        sums = [float((decays**m).sum()) for m in range(1, 7)]
        (least,), (most,) = bound_targets(np.array([height.numerator], dtype=np.uint64))
        decay = float(np.exp(-float(rate) * loss))
        two = accept_by_two_sums(least, most, coin.numerator, decay, 2.0**-44, (sums[0], sums[1]), (sums[0], sums[1]))
        quick = accept_by_power_sums(least, most, coin.numerator, decay, 2.0**-44, sums)
        left = np.ones(len(counts), dtype=np.int64)
        slow = accept_by_logs(least, most, coin.numerator, decay, 2.0**-44, decays, left, 2.0**-47)
        truth = accept_by_balls(height, coin, rate * loss, [cover(counts, rate)])
        assert two in (truth, None)
        for slack in (0.5, 10.0, 50.0):
            below, above = [(sums[0] + each / 50, sums[1] + each) for each in (-slack, slack)]
            wide = accept_by_two_sums(least, most, coin.numerator, decay, 2.0**-44, below, above)
            assert wide in (truth, None), slack
        assert quick in (truth, None)
        assert slow is truth
        undecided += quick is None
        coarse += two is None
    assert undecided < 20
    assert coarse < 60
    target = float(compute_negative_logs(np.array([0.5]))[0])
    assert accept_by_two_sums(target, target, 2**64 - 1, 0.5, 0.0, (100.0, 60.0), (100.0, 60.0)) is False


def cover(counts, rate):
    profile = Profile.of(counts)
    return cover_all_left(profile.values, profile.sizes, rate)
