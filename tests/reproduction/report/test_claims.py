"""The verdict follows the results: it holds, holds in part, does not hold, or is silent."""

import pytest

from reproduction.report.claims import CLAIMS, count_verdicts, judge_claims
from reproduction.report.comparisons import SIDES, Holding

pytestmark = pytest.mark.slow

REAL = ("games", "books", "news")
OURS = "implemented here"
NAMES = {
    "faster": "10 to 100 times faster",
    "cdp": "slower than CDP-Peel",
    "jumps": "“jumps”",
    "bottleneck": "does not constitute a bottleneck",
    "step": "Even with this adjustment",
    "pnf": "FastJoint can be slower",
    "joint": "does not experience quality degradation",
    "large gaps": "particularly well on the books",
    "better pnf": "for all values of k",
    "better cdp": "moderately large k",
    "games": "particularly well on the news",
    "gaps": "significantly larger",
    "order": "resembles that of the varying-k plots",
    "epsilon": "clear decrease",
    "beta": "concerning β",
    "threshold": "changes only slightly",
    "dominated": "empirically dominated",
    "tail": "at most β",
    "growth": "O(dk log k + d log d)",
    "memory": "space O(dk)",
    "stable": "quite stable",
}


def as_in_the_paper(contender, d, at):
    """Times as the paper reports them."""
    return {
        "fastjoint": 1e-7 * at.k**1.5 / at.epsilon**0.5 * 100 + 2e-8 * d,
        "joint": 3e-7 * d * at.k * (1.8 if at.k > 120 and d == 5_155 else 1),
        "pnf-peel": 3e-9 * d * at.k,
        "cdp-peel": 1e-9 * d,
    }.get(contender.law, 1e-3)


def as_accurate(contender, d, at):
    """Errors as the paper reports them, but CDP-Peel is worse at k of 100 and more everywhere."""
    cdp = 5 if at.k < 100 or (d == 5_155 and at.epsilon != 1) else 80
    return {"fastjoint": 30, "joint": 30, "pnf-peel": 90, "cdp-peel": cdp, "gamma": 999, "laplace": 500}.get(
        contender.law, 30
    )


def without_the_jump(contender, d, at):
    return 1 / 1.8 if at.k > 120 and d == 5_155 else 0.99


@pytest.fixture
def judged(invented):
    """Judge one claim on made-up results."""

    def judge(name, *data, side=OURS, **curves):
        [finding] = [
            each for each in judge_claims(invented(*(data or REAL), **curves)) if NAMES[name] in each.claim.text
        ]
        return finding.judgements[side]

    return judge


def test_every_claim_has_a_name_here():
    """So that no claim is without a test."""
    assert [name for name in NAMES for claim in CLAIMS if NAMES[name] in claim.text] == list(NAMES)
    assert len(NAMES) == len(CLAIMS)


def test_results_like_the_papers_confirm_it(invented):
    """Nothing that is as published is contradicted, on either side."""
    results = invented(*REAL, "food", seconds=as_in_the_paper, error=as_accurate, part=without_the_jump, released=True)
    findings = judge_claims(results)
    assert list(findings[0].judgements) == [side.title for side in SIDES]
    for side in SIDES:
        found = {each.claim.text: each.judgements[side.title] for each in findings}
        contradicted = {text[:40]: each for text, each in found.items() if each.holding in (Holding.NO, Holding.PART)}
        # CDP-Peel cannot be both better on games for all ε and worse from k = 100 on, where ε is 1.
        assert set(contradicted) <= {next(claim.text[:40] for claim in CLAIMS if NAMES["games"] in claim.text)}
        assert sum(count_verdicts(findings)[side.title].values()) == len(CLAIMS)


def test_without_the_released_programs_there_is_one_side(invented):
    """Their column is absent."""
    assert list(judge_claims(invented("games"))[0].judgements) == [OURS]


def test_ten_times_at_every_k(judged):
    """Nine times on one data set is a part; nine times everywhere is a contradiction; few rounds are pooled."""

    def nine(small_only):
        return lambda c, d, at: (9e-2 if d == 5_155 or not small_only else 1.0) if c.law == "joint" else 1e-2

    assert judged("faster", seconds=nine(True)).holding is Holding.PART
    assert judged("faster", seconds=nine(False)).holding is Holding.NO
    assert judged("faster", seconds=lambda c, d, at: 1.0 if c.law == "joint" else 1e-2).holding is Holding.YES
    assert judged("faster", seconds=nine(False), rounds=4).holding is Holding.NO


def test_a_slow_cdp_peel_is_reported(judged):
    assert judged("cdp", seconds=lambda c, d, at: 1.0 if c.law == "cdp-peel" else 0.1).holding is Holding.NO


def test_jumps_need_a_jump(judged):
    """A smooth time has none; one that stays without the step does not come from it."""

    def jump(contender, d, at):
        return 1e-4 * at.k * (3 if at.k > 120 else 1)

    assert judged("jumps").holding is Holding.UNTESTED or judged("jumps").holding is Holding.NO
    assert judged("jumps", seconds=jump, part=lambda c, d, at: 1 / 3 if at.k > 120 else 1).holding is Holding.YES
    assert judged("jumps", seconds=jump, part=lambda c, d, at: 0.9 if at.k > 120 else 0.3).holding is Holding.NO


def test_the_step_must_take_less_than_half(judged):
    """More than half at most k of one data set of three is a part."""
    assert judged("bottleneck").holding is Holding.YES
    assert judged("bottleneck", part=lambda c, d, at: 0.3).holding is Holding.NO
    assert judged("bottleneck", part=lambda c, d, at: 0.3 if d == 5_155 else 0.9).holding is Holding.PART


def test_the_order_of_times_must_stay_along_epsilon(judged):
    """Joint above FastJoint above CDP-Peel."""
    assert judged("order", seconds=as_in_the_paper).holding is Holding.YES
    assert judged("order", seconds=lambda c, d, at: 1.0 if c.law == "fastjoint" else 0.1).holding is Holding.PART
    assert judged("order", seconds=lambda c, d, at: 1.0 if c.law == "cdp-peel" else 0.1).holding is Holding.NO


def test_large_gaps_are_judged_on_real_data(judged):
    """Games is not among them."""
    good = lambda c, d, at: 10 if c.law == "fastjoint" and d > 5_155 else 30  # noqa: E731
    assert judged("large gaps", error=good).holding is Holding.YES
    assert judged("large gaps", "games").holding is Holding.UNTESTED
    assert judged("large gaps", error=lambda c, d, at: 90 if c.law == "fastjoint" else 30).holding is Holding.NO


def test_gaps_and_thresholds_are_computed(invented):
    """Neither depends on a measurement."""

    def judge(name, gaps):
        results = invented(*REAL)
        results.gaps = gaps
        [finding] = [each for each in judge_claims(results) if NAMES[name] in each.claim.text]
        return finding.judgements[OURS].holding

    assert judge("gaps", {"news": 100.0, "games": 10.0}) is Holding.YES
    assert judge("gaps", {"news": 99.0, "games": 10.0}) is Holding.NO
    assert judge("gaps", {"news": 99.0}) is Holding.UNTESTED
    assert judge("threshold", {}) is Holding.YES


def test_large_data_must_be_there_to_be_judged(judged):
    """Without food, only the small half of the claim is seen."""
    fast = lambda c, d, at: 1e-3 if c.law == "pnf-peel" else 1e-2  # noqa: E731
    assert judged("pnf", seconds=fast).holding is Holding.OPEN
    assert judged("pnf", *REAL, "food", seconds=fast).holding is Holding.NO
    assert judged("pnf", *REAL, "food", seconds=as_in_the_paper).holding is Holding.YES


def test_errors_above_joints_are_noticed(judged):
    """Everywhere, or at one k only."""
    assert judged("joint", error=lambda c, d, at: 12 if c.law == "fastjoint" else 10).holding is Holding.NO
    one_k = judged("joint", error=lambda c, d, at: 12 if c.law == "fastjoint" and at.k == 10 else 10)
    assert one_k.holding is Holding.PART
    assert "games ℓ∞, k = 10" in one_k.measured
    assert judged("joint").holding is Holding.YES


def test_one_k_makes_better_for_all_k_a_part(judged):
    """The text names the data set and the k."""

    def worse(contender, d, at):
        fast = 50 if d == 5_155 and at.k == 70 else 10
        return {"fastjoint": fast, "pnf-peel": 30}.get(contender.law, 10)

    found = judged("better pnf", error=worse)
    assert found.holding is Holding.PART
    assert "games ℓ∞, k = 70; games ℓ1, k = 70" in found.measured


def test_equal_errors_decide_nothing(judged):
    """Never smaller is not better, and not worse."""
    assert judged("better cdp").holding is Holding.OPEN


def test_games_must_lie_between_the_peels(judged):
    """At every ε; on news FastJoint is best."""

    def curve(contender, d, at):
        cdp = 10 if d == 5_155 else 60
        return {"fastjoint": 30, "pnf-peel": 60, "cdp-peel": cdp}.get(contender.law, 30)

    assert judged("games", error=curve).holding is Holding.YES
    assert judged("games", error=lambda c, d, at: 5 if at.epsilon == 4 else curve(c, d, at)).holding is Holding.YES
    assert judged("games", "books").holding is Holding.UNTESTED
    assert judged("games", "games", "books").holding is Holding.UNTESTED
    assert judged("games", vary=("k",)).holding is Holding.UNTESTED


def test_time_must_fall_with_epsilon(judged):
    """Rising time refutes the claim."""
    assert judged("epsilon", seconds=lambda c, d, at: 1e-2 * at.epsilon).holding is Holding.NO
    assert judged("epsilon", seconds=lambda c, d, at: 1e-2 / at.epsilon).holding is Holding.YES


def test_beta_must_not_matter(judged):
    """Neither to the time nor to the error."""
    assert judged("beta").holding is Holding.YES
    for measure, factor in (("seconds", 1e-2), ("error", 10)):
        curve = lambda c, d, at, factor=factor: factor * (2 if at.beta == 2.0**-14 else 1)  # noqa: E731
        assert judged("beta", **{measure: curve}).holding is Holding.PART


def test_the_bounds_are_judged_by_numbers(judged, invented):
    """Memory, growth and the probability of a pruned list."""
    assert judged("memory").holding is Holding.YES
    assert judged("memory", memory=lambda c, d, at: 1e6 if c.law == "fastjoint" else 1e5).holding is Holding.NO
    assert judged("growth", seconds=lambda c, d, at: (d * at.k) ** 2 * 1e-13).holding is not Holding.YES
    assert judged("tail").holding is Holding.YES
    results = invented("games")
    results.tails.update(dict.fromkeys(results.tails, (1000, -0.5)))
    assert {each.judgements[OURS].holding for each in judge_claims(results) if NAMES["tail"] in each.claim.text} == {
        Holding.NO
    }


def test_stand_ins_say_nothing_about_accuracy(judged):
    """Times count, errors do not."""
    for name in ("joint", "better pnf", "better cdp", "games", "dominated"):
        assert judged(name, "games", "books", stand_ins=("games", "books")).holding is Holding.UNTESTED
    assert "games (stand-in) " in judged("faster", "games", stand_ins=("games",)).measured


def test_a_sweep_that_was_not_run_is_not_judged(judged):
    """Only the claims that a sweep bears on are judged."""
    assert judged("faster", vary=("beta",)).holding is Holding.UNTESTED
    assert judged("epsilon", vary=("k",)).holding is Holding.UNTESTED


def test_errors_alone_are_judged(judged):
    """A run without rounds says something about errors, and nothing about times."""
    assert judged("joint", rounds=0).holding is Holding.YES
    assert judged("faster", rounds=0).holding is Holding.UNTESTED
