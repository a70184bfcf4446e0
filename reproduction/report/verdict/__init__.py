"""The claims of the paper's evaluation in its own words, each with its rule and its judge, and the verdict on them."""

from __future__ import annotations

from reproduction.experiment.results import Results
from reproduction.report.verdict import accuracy, bounds, speed
from reproduction.report.verdict.claim import SIDES, Claim, Finding, Holding, Judgement, Side, count_verdicts

__all__ = ["CLAIMS", "SIDES", "Claim", "Finding", "Holding", "Judgement", "Side", "count_verdicts", "judge_claims"]

CLAIMS = (
    Claim(
        place="5, varying k",
        text="FastJoint consistently outperforms Joint in terms of execution speed, running 10 to 100 times faster "
        "across various datasets.",
        rule="Joint's time over FastJoint's in the same round is at least 10 at every k of every data set",
        judge=speed.faster_than_joint,
    ),
    Claim(
        place="5, varying k",
        text="FastJoint is slower than CDP-Peel; …",
        rule="FastJoint's time over CDP-Peel's in the same round is above 1 at every k of every data set",
        judge=speed.slower_than_cdp_peel,
    ),
    Claim(
        place="5, varying k",
        text="We observe “jumps” in running time of Joint on the games and food datasets. … the current Python "
        "implementation of the Sequence Sampling step of Joint … introduces instability in the running time.",
        rule="at the largest jump between neighbouring k, beyond growth in proportion to k, the factor is smaller "
        "without the step in the same round",
        judge=speed.jumps_come_from_the_step,
    ),
    Claim(
        place="5, varying k",
        text="… this step does not constitute a bottleneck in their code and accounts for a constant fraction of the "
        "total running time …",
        rule="Joint's sequence step takes less than half of its time in the same round, at every k of every data set",
        judge=speed.step_is_no_bottleneck,
    ),
    Claim(
        place="5, varying k; appendix C",
        text="Even with this adjustment [Joint without its sequence step], Joint remains order of magnitude slower.",
        rule="Joint's time before its sequence step over FastJoint's whole time in the same round is at least 10 at "
        "every k of every data set",
        judge=speed.slower_without_the_step,
    ),
    Claim(
        place="5, varying k",
        text="For small datasets, FastJoint can be slower than PNF-Peel … as the dataset size increases (e.g., the "
        "food dataset), FastJoint outperforms PNF-Peel in terms of speed.",
        rule="FastJoint's time over PNF-Peel's in the same round is above 1 at some k of the smallest data set, and "
        "below 1 at every k of data with 100,000 items or more",
        judge=speed.slower_than_pnf_peel_on_small_data_only,
    ),
    Claim(
        place="5, varying k",
        text="Even with the pruning strategy, FastJoint does not experience quality degradation compared to Joint.",
        rule="at no k or ε of real data are FastJoint's ℓ∞ or ℓ1 errors larger by a rank test; with 200 lists each, a "
        "law that gives the larger error with probability 0.7 is noticed with probability 0.99",
        judge=accuracy.no_worse_than_joint,
    ),
    Claim(
        place="5, varying k",
        text="[FastJoint] performs particularly well on the books, news, tweets, and movies datasets, where there are "
        "large gaps between the top-k scores.",
        rule="on those of them that are real, the ℓ∞ and ℓ1 errors of both peels are larger at every k of at least "
        "100, by rank tests",
        judge=accuracy.good_where_gaps_are_large,
    ),
    Claim(
        place="5, varying k",
        text="FastJoint consistently outperforms the pure differentially private PNF-Peel for all values of k …",
        rule="PNF-Peel's ℓ∞ and ℓ1 errors are larger at every k of real data, by rank tests",
        judge=accuracy.better_than_pnf_peel,
    ),
    Claim(
        place="5, varying k",
        text="… and the approximate differentially private CDP-Peel for at least moderately large k.",
        rule="CDP-Peel's ℓ∞ and ℓ1 errors are larger at every k of at least 100 of real data, by rank tests",
        judge=accuracy.better_than_cdp_peel,
    ),
    Claim(
        place="5, varying ε",
        text="FastJoint and Joint perform particularly well on the news dataset and are only slightly better than "
        "PNF-Peel and inferior to CDP-Peel on the games dataset.",
        rule="at every ε, by rank tests: on news FastJoint's errors are smaller than those of both peels; on games "
        "smaller than PNF-Peel's and larger than CDP-Peel's",
        judge=accuracy.good_on_news_and_not_on_games,
    ),
    Claim(
        place="5, varying ε; appendix C",
        text="… the gaps between the large scores in the former dataset [news] are significantly larger than in the "
        "latter [games].",
        rule="the median gap between neighbours of the top 300 scores is at least 10 times as large; it is computed, "
        "so no chance enters",
        judge=bounds.gaps_are_larger_on_news,
    ),
    Claim(
        place="5, varying ε",
        text="The running time comparison resembles that of the varying-k plots …",
        rule="at every ε of every data set, Joint's time is above FastJoint's and FastJoint's above CDP-Peel's, in the "
        "same round",
        judge=speed.order_is_the_same_along_epsilon,
    ),
    Claim(
        place="5, varying ε",
        text="The running time of FastJoint exhibits a clear decrease as ε increases.",
        rule="at every ε but the largest, FastJoint's time over that at the next ε in the same round is above 1",
        judge=speed.time_falls_with_epsilon,
    ),
    Claim(
        place="5, varying β",
        text="Joint, PNF-Peel and CDP-Peel do not exhibit significant performance variation concerning β. … it is "
        "somewhat surprising that FastJoint does not neither.",
        rule="at every β, FastJoint's time is within 25 % of that at the default in the same round, and no rank test "
        "tells its errors from those at the default",
        judge=speed.beta_hardly_matters,
    ),
    Claim(
        place="5, varying β",
        text="Consequently, τ changes only slightly as β varies.",
        rule="τ at every β is within 5 % of τ at the default, at k = 100 and ε = 1; it is computed, so no chance "
        "enters",
        judge=bounds.threshold_hardly_changes,
    ),
    Claim(
        place="5, baselines",
        text="… the Gamma mechanism and the Laplace mechanism, which are empirically dominated by PNF-Peel and "
        "CDP-Peel respectively.",
        rule="at every k of real data, Gamma's errors are larger than PNF-Peel's and Laplace's larger than CDP-Peel's, "
        "by rank tests",
        judge=accuracy.others_are_dominated,
    ),
    Claim(
        place="4, Theorem 4.1 and Lemma 4.6",
        text="The probability of [FastJoint] sampling an s with [loss] ≥ τ is at most β.",
        rule="the probability, computed from the subset sizes at every data set and setting, is at most β; no chance "
        "enters",
        judge=bounds.pruning_is_improbable,
    ),
    Claim(
        place="3 and 4, Theorem 4.1",
        text="[FastJoint] has an implementation with time … complexity O(d + k·τ). … [Joint] with time "
        "O(dk log k + d log d).",
        rule="over all data sets and settings, the slope of log median time against the log of the bound is at most "
        "1.1; a comparison, not a test",
        judge=bounds.time_grows_as_stated,
    ),
    Claim(
        place="3 and 4, Theorem 4.1",
        text="[FastJoint] reduces the time and space complexity to O(d + k·τ). … [Joint] with … space O(dk).",
        rule="the most memory that one list takes is smaller for FastJoint at every measured data set and k; no chance "
        "enters",
        judge=bounds.memory_is_smaller,
    ),
    Claim(
        place="appendix C",
        text="The running time of the algorithms is quite stable.",
        rule="at nine cells of ten that take over 1 ms, the quartiles of the time lie within a quarter of the median; "
        "a comparison, not a test",
        judge=speed.times_are_stable,
    ),
)


def judge_claims(results: Results) -> list[Finding]:
    """Judge every claim on the released programs, where they were run, and on those written anew here."""
    sides = [side for side in SIDES if side.present(results)]
    return [
        Finding(claim=claim, judgements={side.title: claim.judge(results, side) for side in sides}) for claim in CLAIMS
    ]
