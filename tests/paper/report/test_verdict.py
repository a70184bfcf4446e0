"""The verdict follows the results: it holds, it does not hold, or it is silent."""

import pytest

from shortlist.paper.report.verdict import Holding, verdict

REAL = ("games", "books", "news")
CLAIMS = {
    "faster than joint": 0,
    "slower than cdp": 1,
    "jumps": 2,
    "pnf small and large": 3,
    "like joint": 4,
    "better than pnf": 5,
    "better than cdp": 6,
    "games": 7,
    "epsilon": 8,
    "beta": 9,
}


def as_in_the_paper(contender, d, at):
    """Times as the paper reports them."""
    return {
        "fastjoint": 1e-5 * at.k / at.epsilon + 2e-8 * d,
        "joint": 1e-3 * at.k * (3 if at.k > 120 else 1),
        "pnf-peel": 1e-9 * d * at.k,
        "cdp-peel": 1e-9 * d,
        "pnf-joint": 1e-3,
    }[contender.law]


def as_accurate(contender, d, at):
    """Errors as the paper reports them: CDP-Peel is best on games and elsewhere for small k."""
    cdp = 5 if d == 5_155 or at.k < 50 else 80
    return {"fastjoint": 30, "joint": 30, "pnf-peel": 99, "cdp-peel": cdp, "pnf-joint": 30}[contender.law]


@pytest.fixture
def holding(invented):
    """Judge a claim on made-up results."""

    def judge(claim, *names, **curves):
        return verdict(invented(*(names or REAL), **curves))[CLAIMS[claim]].holding

    return judge


def test_results_like_the_papers_confirm_it(invented):
    """Where everything is as published, everything that can be tested holds."""

    def without_the_jump(contender, d, at):
        return 1 / 3 if at.k > 120 else 1

    results = invented(*REAL, "food", seconds=as_in_the_paper, error=as_accurate, part=without_the_jump)
    findings = verdict(results)
    assert {each.claim: each.holding for each in findings if each.holding is not Holding.YES} == {}
    assert all(each.measured and each.test for each in findings)


def test_a_faster_joint_is_reported_as_a_mismatch(holding):
    """Ten times on every data set, or the claim does not hold."""

    def nine(contender, d, at):
        return 9e-3 if contender.law == "joint" and d == 5_155 else 1e-1 if contender.law == "joint" else 1e-3

    assert holding("faster than joint", seconds=nine) is Holding.NO
    assert holding("faster than joint", seconds=lambda c, d, at: 1e-1 if c.law == "joint" else 1e-3) is Holding.YES


def test_a_slow_cdp_peel_is_reported(holding):
    """The comparison is of medians over k."""
    assert holding("slower than cdp", seconds=lambda c, d, at: 1.0 if c.law == "cdp-peel" else 0.1) is Holding.NO


def test_jumps_need_a_step_that_takes_time(holding):
    """A step of 1 % cannot make jumps; one that takes half of a smooth time does not."""
    assert holding("jumps", part=lambda c, d, at: 0.99) is Holding.UNTESTED
    assert holding("jumps", part=lambda c, d, at: 0.5) is Holding.NO


def test_large_data_must_be_there_to_be_judged(holding):
    """Without food, only the small half of the claim is seen; PNF-Peel slower on small data refutes it."""
    fast = lambda c, d, at: 1e-4 if c.law == "pnf-peel" else 1e-3  # noqa: E731
    assert holding("pnf small and large", seconds=fast) is Holding.UNTESTED
    assert holding("pnf small and large", *REAL, "food", seconds=fast) is Holding.NO
    assert holding("pnf small and large", seconds=lambda c, d, at: 1e-2 if c.law == "pnf-peel" else 1e-3) is Holding.NO
    assert holding("pnf small and large", "games") is Holding.UNTESTED


def test_errors_apart_from_joints_refute_likeness(holding):
    """Quartiles that do not meet at more than a tenth of the settings."""
    assert holding("like joint", error=lambda c, d, at: 10 if c.law == "joint" else 20) is Holding.NO
    assert (
        holding("like joint", error=lambda c, d, at: 20 if c.law == "fastjoint" and at.k == 10 else 10) is Holding.YES
    )


def test_one_k_refutes_better_for_all_k(holding, invented):
    """The text names the data set and the k."""

    def worse(contender, d, at):
        return 50 if contender.law == "fastjoint" and d == 5_155 and at.k == 70 else 10

    assert holding("better than pnf", error=worse) is Holding.NO
    measured = verdict(invented(*REAL, error=worse))[CLAIMS["better than pnf"]].measured
    assert "games ℓ∞ no larger at 19 of 20 k (larger within k = 70)" in measured
    assert "books ℓ∞ no larger at all 20 k" in measured


@pytest.mark.parametrize(("until", "expected"), [(90, Holding.YES), (100, Holding.NO), (200, Holding.NO)])
def test_moderate_k_begins_at_the_default_at_the_latest(holding, until, expected):
    """Worse than CDP-Peel up to some k, better from there on."""

    def curve(contender, d, at):
        return {"fastjoint": 50 if at.k <= until else 5}.get(contender.law, 20)

    assert holding("better than cdp", error=curve) is expected


def test_equal_errors_are_not_better(holding):
    """Never smaller is not more accurate."""
    assert holding("better than cdp") is Holding.NO


def test_games_must_lie_between_the_peels(holding):
    """At every ε."""
    between = {"fastjoint": 20, "pnf-peel": 30, "cdp-peel": 10}
    assert holding("games", error=lambda c, d, at: between.get(c.law, 20)) is Holding.YES
    assert holding("games", error=lambda c, d, at: 5 if at.epsilon == 4 else between.get(c.law, 20)) is Holding.NO
    assert holding("games", "books") is Holding.UNTESTED


def test_time_must_fall_with_epsilon(holding):
    """Level or rising time refutes the claim."""
    assert holding("epsilon") is Holding.NO
    assert holding("epsilon", seconds=lambda c, d, at: 1 / at.epsilon) is Holding.YES
    assert holding("epsilon", seconds=lambda c, d, at: 1 / at.epsilon if at.epsilon < 4 else 0.6) is Holding.NO


@pytest.mark.parametrize("measure", ["seconds", "error"])
def test_beta_must_not_matter(holding, measure):
    """Neither to the time nor to the error."""
    assert holding("beta") is Holding.YES
    assert holding("beta", **{measure: lambda c, d, at: 100 if at.beta == 2.0**-14 else 10}) is Holding.NO


def test_stand_ins_say_nothing_about_accuracy(invented):
    """Times count, errors do not."""
    findings = verdict(invented("games", "books", seconds=as_in_the_paper, stand_ins=("games", "books")))
    assert all(findings[index].holding is Holding.UNTESTED for index in (4, 5, 6, 7))
    assert "games (stand-in) " in findings[0].measured


def test_too_few_trials_say_nothing(invented):
    """Four are too few for quartiles."""
    assert {each.holding for each in verdict(invented(*REAL, trials=4))} == {Holding.UNTESTED}


@pytest.mark.parametrize(("vary", "told"), [("k", {0, 1, 4, 5, 6}), ("epsilon", {4, 7, 8}), ("beta", {9})])
def test_a_sweep_that_was_not_run_is_not_judged(invented, vary, told):
    """Only the claims that the sweep bears on are told."""
    findings = verdict(invented(*REAL, vary=(vary,)))
    assert {index for index, each in enumerate(findings) if each.holding is not Holding.UNTESTED} - {3} == told
