"""The audit: it passes for every mechanism that may make secure releases, and fails for those made to be wrong."""

import itertools
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import shortlist
from shortlist.audits import frequencies, tables
from shortlist.audits.cases import Case, Finding, Result, list_cases
from shortlist.audits.frequencies import bound_p_value
from shortlist.audits.privacy_loss import (
    Pair,
    bound_above,
    bound_below,
    bound_epsilon,
    enumerate_losses,
    enumerate_weights,
    find_far_pair,
)
from shortlist.audits.run import AuditReport
from shortlist.errors import OutputError, ParameterError
from shortlist.exact.balls import use_precision
from shortlist.mechanisms import MECHANISMS, Joint, LimitedDomain, PNFPeel, Stable, Subset, Threshold
from shortlist.mechanisms.mechanism import Mechanism, Prepared
from shortlist.mechanisms.stated import collect_law
from shortlist.mechanisms.unknown_domain import ItemsAboveThreshold, StableSets, Stop, StoppedPeel
from shortlist.profile import EVERY_LEVEL, Profile
from shortlist.testing import SeededBits

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", list_cases(None, 1), ids=str)
def test_every_mechanism_draws_what_it_states(case):
    """Frequencies follow the stated law and no other, and samples prove no epsilon above the promised one."""
    bits = SeededBits(11)
    seen = frequencies.check_frequencies(case, 1000, bits)
    assert seen.result is Result.PASS, seen
    bound = bound_epsilon(case, find_far_pair(case, 500), 500, bits)
    assert bound.result is Result.PASS, bound


def test_many_draws_of_auto_keep_their_noisy_counts():
    """Some candidates of auto have noisy counts and others have none: draws at once show what single draws show."""
    case = next(each for each in list_cases("auto", 1) if "votes_per_person" in each.options)
    assert frequencies.check_frequencies(case, 2000, SeededBits(1), k=1, many=True).result is Result.PASS


def test_an_object_is_audited_for_small_k():
    """A range of sizes, or one size, is a parameter for large k only."""
    for given in (
        Stable(k=10, epsilon=1, delta="0.1"),
        Stable(k=(3, 3), epsilon=1, delta="0.1"),
        Subset(k=(5, 10), epsilon=1),
    ):
        case = list_cases(given, 1)[0]
        assert (case.build(1).k, case.build(2).sizes) == (1, range(1, 3))


def test_an_object_with_a_budget_in_rho_is_audited():
    """All k have that rho, so each has an epsilon of its own. Laws that are 30 % off have another rho."""
    report = shortlist.audit(PNFPeel(k=3, rho="0.2"), trials=3000, tables=False, bits=SeededBits(2))
    assert report.verdict == "PASS: 11 checks passed"


def test_weights_are_audited():
    """One person who adds up to 2 to each item loses no more than epsilon, and as much as that."""
    found = enumerate_weights(list_cases("pnf-peel", 1)[0], "replace")
    assert found.result is Result.PASS
    assert 0.99 < found.details["loss"] <= 1


def test_every_mechanism_has_a_law():
    """No mechanism is left out of the audit by mistake."""
    assert all(kind.state_law is not Mechanism.state_law for kind in MECHANISMS.values())


class Modest(Case):
    """A case that promises less than it spends: its mechanisms run with twice its epsilon."""

    def build(self, k, relation="add-remove", *, stretch=Fraction(1)):
        return super().build(k, relation, stretch=stretch * 2)


@pytest.mark.parametrize("name", ["margin-joint", "cdp-peel", "noisy-counts"])
def test_a_law_keeps_its_guarantee_and_not_a_smaller_one(name):
    """Enumeration accepts the stated epsilon and delta, and rejects a promise of half of it."""
    case = list_cases(name, 1)[0]
    assert enumerate_losses(case, "add-remove", largest_d=3)[0].result is Result.PASS
    modest = Modest(kind=case.kind, epsilon=case.epsilon, options=case.options)
    assert enumerate_losses(modest, "add-remove", largest_d=3)[0].result is Result.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseStable(Stable):
    """Its law is that of a delta of 1/2, whatever delta it promises. It has no rho that could show it."""

    def state_law(self, histogram, *, reach=6):
        return Stable(k=self.k, epsilon=self.epsilon, delta="1/2", neighbours=self.neighbours).state_law(histogram)


def test_a_law_that_exceeds_delta_is_caught():
    """The divergence alone shows it."""
    for kind, result in ((Stable, Result.PASS), (LooseStable, Result.FAIL)):
        case = Case(kind=kind, epsilon=Fraction(1), options={"delta": Fraction(1, 5)})
        assert enumerate_losses(case, "add-remove", largest_d=2)[0].result is result


# Mechanisms made to be wrong: the name, the guarantee and the parameters are those of a right one.


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFactor(PNFPeel):
    """A factor 2 is lost: it draws with twice its epsilon."""

    def _prepare(self, levels):
        return PNFPeel(k=self.k, epsilon=2 * self.epsilon, neighbours=self.neighbours).prepare(levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedGumbel(Joint):
    """Gumbel noise in floating point from few uniform numbers: an item that is far behind cannot win."""

    def _prepare(self, levels):
        return FloatGumbel(levels, self)


class FloatGumbel(Prepared):
    def __init__(self, levels, mechanism):
        self.profile, self.mechanism = levels.above(levels.d, EVERY_LEVEL), mechanism

    def draw(self, bits):
        uniform = (np.frombuffer(bits.draw(self.profile.d), dtype=np.uint8) % 3 + 1) / 4
        counts = np.repeat(self.profile.values, self.profile.sizes)
        noisy = float(self.mechanism.rate) * counts - np.log(-np.log(uniform))
        return self.profile.picks(np.argsort(-noisy, kind="stable")[: self.mechanism.k])


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyVoted(Joint):
    """Only items with votes can be released, so an item is released because it was voted for."""

    def _prepare(self, levels):
        profile = levels.above(levels.d, EVERY_LEVEL)
        counts = np.repeat(profile.values, profile.sizes)
        voted = counts[: max(self.k, int((counts > 0).sum()))]
        return Joint(k=self.k, epsilon=self.epsilon, neighbours=self.neighbours).prepare(Profile.of(voted))


@dataclass(frozen=True, slots=True, kw_only=True)
class LowThreshold(Threshold):
    """The threshold hides nobody: an item that one person alone holds is released."""

    def _prepare_observed(self, observed):
        return ItemsAboveThreshold(observed, k=self.k, law=self.law, threshold=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LightStop(LimitedDomain):
    """The stop weighs as much as one item at the cut-off, so that items of one person come before it."""

    def _prepare_observed(self, observed):
        return StoppedPeel(observed, k=self.k, k_bar=self.k_bar, rate=self.rate, stop=Stop(height=0, copies=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyGap(Stable):
    """Every gap is wide enough, so that one person's item completes a set."""

    def _prepare_observed(self, observed):
        return StableSets(observed, sizes=self.sizes, rate=self.rate, law=self.law, threshold=0)


@pytest.mark.parametrize("kind", [LowThreshold, LightStop, AnyGap])
def test_items_of_one_person_are_caught(kind):
    """Samples alone show that a mechanism without a domain releases an item that nobody else holds."""
    options = next(each.options for each in list_cases(kind.name, 1))
    case, bits = Case(kind=kind, epsilon=Fraction(1), options=options), SeededBits(5)
    assert frequencies.check_frequencies(case, 20_000, bits).result is Result.FAIL
    assert bound_epsilon(case, find_far_pair(case, 2000), 2000, bits).result is Result.FAIL


@pytest.mark.parametrize("kind", [LostFactor, TruncatedGumbel, OnlyVoted])
def test_wrong_mechanisms_are_caught(kind):
    """Samples alone prove an epsilon above the promised one, and frequencies reject the stated law."""
    case, bits = Case(kind=kind, epsilon=Fraction(1)), SeededBits(5)
    assert frequencies.check_frequencies(case, 2000, bits).result is Result.FAIL
    pair = (
        Pair(here=(3, 3), there=(3, 4), k=1, relation="add-remove") if kind is LostFactor else find_far_pair(case, 5000)
    )
    assert bound_epsilon(case, pair, 5000, bits).result is Result.FAIL


def test_a_table_that_one_person_changes_too_much_is_noticed():
    """Each way to break the property is seen: a count that jumps, another item, an error for one person only."""
    before = {(0, b"a"): 3, (0, b"b"): 0}
    assert tables.may_differ(before, {(0, b"a"): 4, (0, b"b"): 1}, None)
    for after, cap in (
        ({(0, b"a"): 5, (0, b"b"): 0}, None),
        ({(0, b"a"): 2, (0, b"b"): 0}, None),
        ({(0, b"A"): 3, (0, b"b"): 0}, None),
        ({(0, b"a"): 3, (0, b"b"): 0, (0, b"c"): 1}, None),
        ({(0, b"a"): 4, (0, b"b"): 1}, 1),
        ("an error", None),
    ):
        assert not tables.may_differ(before, after, cap)


def test_without_a_domain_one_person_may_bring_items():
    """New items count 1 and use up the cap; an item that vanishes or comes with two votes is noticed."""
    before = {(0, b"a"): 3}
    assert tables.may_differ(before, {(0, b"a"): 4, (0, b"b"): 1}, 2, listed=False)
    for after, cap in (
        ({(0, b"b"): 1}, None),
        ({(0, b"a"): 3, (0, b"b"): 2}, None),
        ({(0, b"a"): 4, (0, b"b"): 1}, 1),
        ("an error", None),
    ):
        assert not tables.may_differ(before, after, cap, listed=False)


def test_one_person_changes_so_many_groups():
    """A person who changes one group too many, or one cell too many over all groups, is noticed."""
    before, after = ({(group, b"a"): votes for group in range(3)} for votes in (1, 2))
    assert tables.may_differ(before, after, 3, groups=3)
    assert not tables.may_differ(before, after, None, groups=2)
    assert not tables.may_differ(before, after, 2, groups=3)


def find_engines(*names):
    return [each for each in tables.ENGINES if each.name in names]


def test_tables_are_counted_on_installed_engines():
    """Every engine that is installed passes all checks; one that is missing is named and does not fail the audit."""
    missing = tables.Engine(name="nowhere", hold=lambda table, folder: table, packages=("no_such_package",))
    engines = [*find_engines("PyArrow", "SQLite", "CSV files"), missing]
    findings = list(tables.check_tables(seed=3, engines=engines, pairs=5))
    nowhere = next(each for each in findings if each.subject == "votes in nowhere")
    assert nowhere.result is Result.NOT_RUN
    assert "no_such_package is not installed" in nowhere.found
    assert [each.result for each in findings if each.result is not Result.NOT_RUN] == [Result.PASS] * 12


def test_an_engine_that_folds_case_is_caught():
    """Folding letters lets one person add two votes to an item: the comparison of counts shows it."""
    pair = tables.Neighbours(
        items=["a", "b"], kind="text", people=[[("a", "de")], [("a", "de"), ("A", "de")]], cap=None
    )

    def fold(last):
        items = [item.lower() for votes in pair.people[: 1 + last] for item, _ in votes]
        return {(0, name.encode()): items.count(name) for name in pair.items}

    assert not tables.may_differ(fold(False), fold(True), pair.cap)
    counted = [tables.count(pair, pair.table(last=last)) for last in (False, True)]
    assert tables.may_differ(*counted, pair.cap)


def test_the_report_says_everything(tmp_path):
    """The text and the JSON hold every finding, and a file is never overwritten by accident."""
    report = shortlist.audit("subset", trials=2000, tables=False, bits=SeededBits(1))
    assert report.passed
    assert report.verdict == "PASS: 13 checks passed"
    report.to_json(tmp_path / "report.json")
    stored = json.loads((tmp_path / "report.json").read_text())
    assert stored["schema"] == "shortlist.audit/2"
    assert stored["passed"]
    assert [each["result"] for each in stored["findings"]] == ["pass"] * 13
    assert stored["randomness"] == "randomness that the caller gave"
    assert stored["findings"][1]["check"] == "privacy loss of a family"
    assert stored["findings"][1]["loss"] < 1
    text = " ".join(str(report).split())
    assert "largest loss 1.0000, promised epsilon 1; rho " in text
    assert "promised 0.1250 (2,446 pairs, add-remove)" in text
    with pytest.raises(OutputError, match="exists"):
        report.to_json(tmp_path / "report.json")


def test_an_audit_without_power_is_not_decided():
    """Where too few draws were made to notice an error, a check neither passes nor fails."""
    case, bits = list_cases("joint", 1)[0], SeededBits(1)
    seen = frequencies.check_frequencies(case, 20, bits)
    assert seen.details["p"] > frequencies.ALARM
    independence, bound = (
        frequencies.check_independence(case, 20, bits),
        bound_epsilon(case, find_far_pair(case, 20), 20, bits),
    )
    assert {each.result for each in (seen, independence, bound)} == {Result.NOT_DECIDED}


@pytest.mark.parametrize(
    ("results", "whole"),
    [
        ([Result.PASS, Result.PASS], Result.PASS),
        ([Result.PASS, Result.NOT_RUN], Result.PASS),
        ([Result.PASS, Result.NOT_DECIDED], Result.NOT_DECIDED),
        ([Result.FAIL, Result.NOT_DECIDED], Result.FAIL),
        ([Result.PASS, Result.FAIL], Result.FAIL),
        ([Result.NOT_RUN], Result.NOT_DECIDED),
        ([], Result.NOT_DECIDED),
    ],
)
def test_an_audit_passes_only_if_checks_were_run_and_passed(results, whole):
    """Nothing that was not run, and nothing that had no power, counts as a pass."""
    findings = tuple(Finding(subject="x", check="y", result=each, found="z") for each in results)
    report = AuditReport(made=datetime.now(UTC), epsilon=Fraction(1), trials=1000, findings=findings)
    assert (report.result, report.passed) == (whole, whole is Result.PASS)
    assert report.verdict.startswith(whole.upper())


@pytest.mark.parametrize("hold", [lambda table, folder: table.drop_columns("user"), lambda table, folder: table[:0]])
def test_tables_that_show_nothing_are_not_decided(hold):
    """An engine that refuses every table, or counts nothing, does not pass."""
    results = {each.result for each in tables.check_tables(seed=3, engines=[tables.Engine(name="empty", hold=hold)])}
    assert results == {Result.NOT_DECIDED, Result.NOT_RUN}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": 1000}, "epsilon must be from 0.01 to 10"),
        ({"trials": 10}, "trials must be a whole number from 1000"),
        ({"trials": 1e4}, "trials must be a whole number"),
        ({"mechanism": "jiont"}, "did you mean 'joint'"),
    ],
)
def test_refuses_wrong_parameters(arguments, text):
    """Every wrong parameter is named before anything is computed."""
    with pytest.raises(ParameterError, match=text):
        shortlist.audit(**arguments)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (8, 10), (10, 10), (1200, 2500), (3, 2500), (2500, 2500)])
def test_clopper_pearson_is_that_of_the_beta_law(successes, trials):
    """Both bounds are those of SciPy, and err on the safe side."""
    low, high = bound_below(successes, trials, 1e-6), bound_above(successes, trials, 1e-6)
    theirs = stats.beta.ppf(1e-6, successes, trials - successes + 1) if successes else 0.0
    assert theirs - 1e-8 < low <= theirs + 1e-12
    theirs = stats.beta.ppf(1 - 1e-6, successes + 1, trials - successes) if successes < trials else 1.0
    assert theirs - 1e-9 <= high < theirs + 1e-8


@pytest.mark.parametrize("law", [(0.5, 0.5), (0.01, 0.99), (0.2, 0.3, 0.5), (0.02, 0.03, 0.95)])
def test_a_true_law_is_rejected_as_rarely_as_stated(law):
    """P(p ≤ x) ≤ x for every x, by enumeration of all samples; rare cells are joined as in the audit."""
    draws, chances = 40, {}
    multinomial = stats.multinomial(draws, law)
    for counts in itertools.product(range(draws + 1), repeat=len(law) - 1):
        if (rest := draws - sum(counts)) >= 0:
            sample = (*counts, rest)
            p = bound_p_value(sample, law)
            chances[p] = chances.get(p, 0.0) + multinomial.pmf(sample)
    reached = 0.0
    for p in sorted(chances):
        reached += chances[p]
        assert reached <= p * (1 + 1e-9)


def test_a_wrong_law_is_rejected():
    """The bound is no larger than needed: a law that is 30 % off is rejected, and an impossible output is, too."""
    assert bound_p_value([5200, 4800], [0.5, 0.5]) > 1e-9
    assert bound_p_value([6500, 3500], [0.5, 0.5]) < 1e-100
    assert bound_p_value([6500, 3500, 1], [0.65, 0.35, 0.0]) == 0


def test_laws_are_laws():
    """The probabilities of all outputs sum to 1, but for noisy counts that are far away."""
    with use_precision(96):
        for case in list_cases(None, 1):
            law = collect_law(case.build(2), (3, 2, 0), reach=9)
            total = float(sum(law.values()).mid())
            assert total == pytest.approx(1, abs=1e-2 if case.noisy else 1e-12)
