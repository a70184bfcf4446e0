"""Break decisive lines one at a time, and see that the tests notice.

Each mutation changes one line in a copy of the tree: a sign, a factor 2, ≤ for <. The test named beside it must pass
before the change and fail after it. Run `make mutations`, or this file with parts of paths to choose some.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "src/shortlist"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One line of a file before and after, and the test that must notice."""

    path: str
    before: str
    after: str
    test: str


MUTATIONS = (
    Mutation(  # twice the rate, half the noise
        "mechanisms/mechanism.py",
        "return self.epsilon / (2 * self.neighbours.sensitivity)",
        "return self.epsilon / self.neighbours.sensitivity",
        "tests/mechanisms/joint/test_joint.py::TestJoint::test_no_neighbour_is_told_apart[add-remove]",
    ),
    Mutation(  # the replace relation gets the noise of add-remove
        "privacy/guarantee.py",
        "return 1 if self is Neighbours.ADD_REMOVE else 2",
        "return 1 if self is Neighbours.ADD_REMOVE else 1",
        "tests/mechanisms/joint/test_joint.py::TestJoint::test_no_neighbour_is_told_apart[replace]",
    ),
    Mutation(
        "mechanisms/peel/pnf_peel.py",
        "return self.epsilon / (self.k * self.neighbours.sensitivity)",
        "return 2 * self.epsilon / (self.k * self.neighbours.sensitivity)",
        "tests/mechanisms/peel/test_pnf_peel.py::TestPNFPeel::test_no_neighbour_is_told_apart[add-remove]",
    ),
    Mutation(
        "mechanisms/peel/cdp_peel.py",
        "return self.round_epsilon / self.neighbours.sensitivity",
        "return 2 * self.round_epsilon / self.neighbours.sensitivity",
        "tests/mechanisms/peel/test_cdp_peel.py::TestCDPPeel::test_no_neighbour_is_told_apart[add-remove]",
    ),
    Mutation(  # a rho that is too small
        "mechanisms/peel/cdp_peel.py",
        "rho = self.k * self.round_epsilon**2 / 8",
        "rho = self.k * self.round_epsilon**2 / 16",
        "tests/mechanisms/peel/test_cdp_peel.py::TestCDPPeel::test_no_neighbour_is_told_apart[replace]",
    ),
    Mutation(  # earlier places do not use items up: exact numbers
        "mechanisms/joint/sequences.py",
        "_multiply((self.count_allowed(r) - np.arange(self.k)).tolist())",
        "_multiply((self.count_allowed(r)).tolist())",
        "tests/mechanisms/joint/test_joint.py::TestJoint::test_law_is_the_stated_one_on_every_small_histogram[add-remove]",
    ),
    Mutation(  # earlier places do not use items up: floats
        "mechanisms/joint/sequences.py",
        "factors -= self._earlier[positions, None]",
        "factors += self._earlier[positions, None]",
        "tests/mechanisms/joint/test_joint.py::TestJoint::test_sampling_follows_the_law_and_no_other",
    ),
    Mutation(  # one loss too many is allowed
        "mechanisms/joint/mixture.py",
        "sequences.count_allowed(None if end is None else end - 1)",
        "sequences.count_allowed(None if end is None else end)",
        "tests/mechanisms/joint/test_joint.py::TestJoint::test_sampling_follows_the_law_and_no_other",
    ),
    Mutation(  # the bonus of the true list is lost
        "mechanisms/joint/margin_joint.py",
        "enclose_exp_minus(self._rate * margin) * self._joint.total(effort)",
        "self._joint.total(effort)",
        "tests/mechanisms/joint/test_margin_joint.py::TestMarginJoint::test_law_is_the_stated_one_on_every_small_histogram[add-remove]",
    ),
    Mutation(  # the sign of a gap
        "mechanisms/subset/sets.py",
        "self.gap = self.lowest - self.next",
        "self.gap = self.next - self.lowest",
        "tests/mechanisms/subset/test_subset.py::TestSubsetOfSeveralSizes::test_law_is_the_stated_one_on_every_small_histogram[add-remove]",
    ),
    Mutation(  # an item that was taken stays
        "mechanisms/peel/peeling.py",
        "self._left[level] -= 1",
        "self._left[level] -= 0",
        "tests/mechanisms/peel/test_cdp_peel.py::TestCDPPeel::test_law_is_the_stated_one_on_every_small_histogram[replace]",
    ),
    Mutation(  # a bound is included
        "exact/uniform.py",
        "if candidate < bound:",
        "if candidate <= bound:",
        "tests/exact/test_uniform.py::test_below_is_uniform",
    ),
    Mutation(  # the incomplete last cycle is kept: small residues are too likely
        "exact/uniform.py",
        "last = ~(cycle % divisors)",
        "last = ~(cycle * np.uint64(0))",
        "tests/exact/test_uniform.py::test_the_incomplete_last_cycle_is_rejected",
    ),
    Mutation(  # the shuffle forgets what it moved
        "exact/shuffles.py",
        "moved[place] = moved.get(j, j)",
        "moved[place] = moved.get(place, j)",
        "tests/exact/test_uniform.py::test_distinct_below_is_uniform_over_all_that_fit",
    ),
    Mutation(  # floats decide although their error forbids it
        "exact/choice.py",
        "certain = self._borders[index] + margin < target < self._borders[index + 1] - margin",
        "certain = self._borders[index] - margin < target < self._borders[index + 1] + margin",
        "tests/exact/test_choice.py::test_table_agrees_with_quantile_or_says_nothing",
    ),
    Mutation(  # the sign of an acceptance threshold
        "exact/thinning.py",
        "threshold = (1 - chance) / (1 - enclose_exp_minus(x) * chance)",
        "threshold = (1 - chance) / (1 + enclose_exp_minus(x) * chance)",
        "tests/mechanisms/joint/test_pnf_joint.py::TestPNFJointByBalls::test_sampling_follows_the_law_and_no_other",
    ),
    Mutation(  # the sign of ln(α) in the conversion from zCDP
        "privacy/zcdp.py",
        "(ball(delta).log() + a.log1p()) / a",
        "(ball(delta).log() - a.log1p()) / a",
        "tests/privacy/test_privacy.py::test_conversion_is_safe_and_near_the_best",
    ),
    Mutation(  # a person who adds up to N has N² times the rho
        "privacy/guarantee.py",
        "self.rho * sensitivity**2",
        "self.rho * sensitivity",
        "src/shortlist/privacy/guarantee.py",
    ),
    Mutation(  # the deltas of the second part are lost
        "privacy/composition.py",
        "remaining = allowed - (total - first.delta)",
        "remaining = allowed",
        "tests/privacy/test_privacy.py::test_mixed_composition_holds_for_randomised_response",
    ),
    Mutation(  # the choice of auto spends twice its part
        "mechanisms/auto/candidates.py",
        "rate=epsilon / (2 * auto.neighbours.sensitivity)",
        "rate=epsilon / auto.neighbours.sensitivity",
        "tests/mechanisms/auto/test_auto.py::TestAutoThatSpendsHalfOnTheChoice::test_no_neighbour_is_told_apart[add-remove]",
    ),
    Mutation(  # half the noise on each count
        "mechanisms/counts/calibrated.py",
        "return DiscreteLaplace(moved / epsilon)",
        "return DiscreteLaplace(moved / (2 * epsilon))",
        "tests/mechanisms/counts/test_noisy_counts.py::TestPureNoisyCounts::test_no_neighbour_is_told_apart[replace]",
    ),
    Mutation(  # the variance of a Gaussian that is half as wide
        "mechanisms/counts/calibrated.py",
        "DiscreteGaussian(moved / (2 * rho))",
        "DiscreteGaussian(moved / (8 * rho))",
        "tests/mechanisms/counts/test_noisy_counts.py::test_gaussian_lists_and_counts_are_within_rho[add-remove]",
    ),
    Mutation(  # every item with a count at the threshold ties there, whatever its noise
        "mechanisms/counts/ties.py",
        "(below if drawn else taken)[position]",
        "taken[position]",
        "tests/mechanisms/counts/test_noisy_counts.py::test_ties_at_the_threshold_follow_the_law",
    ),
    Mutation(  # a changed vote of a person moves one count less
        "mechanisms/counts/of_list.py",
        "return min(self.k, self.votes_per_person * self.neighbours.sensitivity)",
        "return min(self.k, self.votes_per_person)",
        "tests/mechanisms/counts/test_of_list.py::test_no_neighbour_is_told_apart[pure-3-1-replace]",
    ),
    Mutation(  # the assessment is free
        "terms.py",
        "for each in (self.counts, self.assess) if each is not None]",
        "for each in (self.counts,) if each is not None]",
        "tests/release/test_extras.py::test_the_guarantee_is_the_sum",
    ),
    Mutation(  # a ledger charges half of each epsilon
        "ledger/budget.py",
        "return self.guarantee.epsilon - spent.epsilon, self.basic_delta - spent.delta",
        "return self.guarantee.epsilon - spent.epsilon / 2, self.basic_delta - spent.delta",
        "tests/ledger/test_budget.py::test_the_worst_releases_use_a_pure_budget_up[1-True]",
    ),
    Mutation(  # a ledger counts deltas as if there were none
        "ledger/budget.py",
        "delta += guarantee.delta * times",
        "delta += guarantee.delta * 0",
        "tests/ledger/test_budget.py::test_the_worst_releases_use_delta_up[1-True]",
    ),
    Mutation(  # an audit overlooks what delta must cover
        "audits/laws.py",
        "return sum((gap for gap in gaps if gap > 0), arb(0))",
        "return sum((gap for gap in gaps if gap < 0), arb(0))",
        "tests/mechanisms/peel/test_cdp_peel.py::test_twice_the_epsilon_of_a_round_is_seen",
    ),
    Mutation(  # the last item of a level gets the rank of the next
        "profile.py",
        'return np.searchsorted(self.ends, positions, side="right")',
        'return np.searchsorted(self.ends, positions, side="left")',
        "tests/mechanisms/joint/test_joint.py::TestJoint::test_sampling_follows_the_law_and_no_other",
    ),
    Mutation(  # items on the floor of the view are lost
        "votes/memory/views.py",
        "np.flatnonzero(part >= floor)",
        "np.flatnonzero(part > floor)",
        "tests/votes/memory/test_arrays.py::test_shows_the_levels_it_is_asked_for",
    ),
    Mutation(  # the last block is searched with counts of the block before it
        "votes/memory/blocks.py",
        "there[starts < blocks * _BLOCK, : -len(self._counts) % _BLOCK] = False",
        "there[starts < blocks * _BLOCK, : -len(self._counts) % _BLOCK] &= True",
        "tests/votes/memory/test_blocks.py::test_a_block_or_a_part_may_end_anywhere",
    ),
    Mutation(  # a negative count is taken for a large one
        "votes/memory/blocks.py",
        "or top > np.iinfo(counts.dtype).max:",
        "or top < 0:",
        "tests/votes/memory/test_blocks.py::test_other_counts_are_left_to_other_views",
    ),
    Mutation(  # ranks inside a level run backwards
        "votes/memory/views.py",
        "np.searchsorted(values, picks.levels) + picks.ranks",
        "np.searchsorted(values, picks.levels) - picks.ranks",
        "tests/votes/memory/test_arrays.py::test_shows_the_levels_it_is_asked_for",
    ),
    Mutation(  # a person counts as often as they voted
        "votes/duckdb.py",
        "system.main.count(DISTINCT other) AS votes",
        "system.main.count(other) AS votes",
        "tests/votes/engines/test_engines.py::test_counts_each_person_once[parquet]",
    ),
    Mutation(  # one vote fewer than the cap allows
        "votes/duckdb.py",
        'filter(f"turn <= {voters.cap}")',
        'filter(f"turn < {voters.cap}")',
        "tests/votes/engines/test_engines.py::test_a_cap_keeps_so_many_votes_of_each_person[parquet]",
    ),
    Mutation(  # the same on PostgreSQL
        "votes/postgres.py",
        "count(DISTINCT {other.person}) AS votes {voted}",
        "count({other.person}) AS votes {voted}",
        "tests/votes/engines/test_engines.py::test_counts_each_person_once[postgres]",
    ),
    Mutation(  # of several steps that took a place, the first counts
        "exact/shuffles.py",
        "linked[:, :-1] &= ~(linked[:, 1:] & repeated[:, :-1])",
        "linked[:, 1:] &= ~(linked[:, :-1] & repeated[:, :-1])",
        "tests/exact/test_many.py::test_a_shuffle_in_rows_is_the_shuffle",
    ),
    Mutation(  # many peels propose items as if none of the best level were used up
        "mechanisms/peel/many.py",
        "self.tops[runs] += 1",
        "self.tops[runs] += 2",
        "tests/mechanisms/peel/test_cdp_peel.py::TestCDPPeel::test_many_draws_follow_the_law_and_no_other",
    ),
    Mutation(  # proposals of many peels are rejected too rarely
        "exact/many_thinning.py",
        "below = tails / (tails + wide) * (1 - _MARGIN)",
        "below = np.minimum(tails / (tails + wide) * 2, 0.99)",
        "tests/exact/test_many.py::test_quick_decisions_agree_with_balls",
    ),
    Mutation(  # the stop is lower than a hidden item may be
        "mechanisms/unknown_domain/limited_domain.py",
        "return place_stop(self._stop_weight(), self.rate, height=self.neighbours.sensitivity)",
        "return place_stop(self._stop_weight(), self.rate, height=0)",
        "tests/mechanisms/unknown_domain/test_limited_domain.py::test_the_stop_weighs_what_the_proof_needs[add-remove]",
    ),
    Mutation(  # one item more than k_bar is a candidate
        "mechanisms/unknown_domain/stopped_peel.py",
        "sizes = np.append(observed.sizes[:last], k_bar - before)",
        "sizes = np.append(observed.sizes[:last], k_bar - before + 1)",
        "tests/mechanisms/unknown_domain/test_limited_domain.py::TestLimitedDomain::"
        "test_sampling_follows_the_law_and_no_other",
    ),
    Mutation(  # items with one vote show too often
        "mechanisms/unknown_domain/threshold.py",
        "return 2 + max(",
        "return 1 + max(",
        "tests/mechanisms/unknown_domain/test_threshold.py::TestLaplaceThreshold::"
        "test_no_neighbour_is_told_apart[1-add-remove]",
    ),
    Mutation(  # a noisy count that equals the threshold is lost
        "mechanisms/unknown_domain/threshold.py",
        "released: NDArray[np.bool_] = noisy >= self._threshold",
        "released: NDArray[np.bool_] = noisy > self._threshold",
        "tests/mechanisms/unknown_domain/test_threshold.py::TestLaplaceThreshold::"
        "test_sampling_follows_the_law_and_no_other",
    ),
    Mutation(  # the test of the gap is one vote too kind
        "mechanisms/unknown_domain/stable.py",
        "return self.neighbours.sensitivity + 1 + bound_noise(self.law, 1, 2 * self.delta)",
        "return self.neighbours.sensitivity + bound_noise(self.law, 1, 2 * self.delta)",
        "tests/mechanisms/unknown_domain/test_stable.py::test_one_less_is_seen[1-add-remove]",
    ),
    Mutation(  # without a domain, a person who votes twice counts twice
        "votes/duckdb.py",
        "system.main.count(DISTINCT other) AS votes",
        "system.main.count(other) AS votes",
        "tests/votes/engines/test_observed.py::test_groups_by_exact_value[pyarrow-text]",
    ),
    Mutation(  # ties are in an order that is not that of the bytes
        "votes/duckdb.py",
        "(PARTITION BY votes ORDER BY item) - 1 AS place",
        "(PARTITION BY votes ORDER BY item DESC) - 1 AS place",
        "tests/votes/engines/test_observed.py::test_ties_are_in_the_order_of_bytes[pyarrow]",
    ),
)


def main(words: list[str]) -> int:
    """Try the mutations whose path has one of the words, or all of them; return how many were not noticed."""
    chosen = [each for each in MUTATIONS if not words or any(word in each.path for word in words)]
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = copy_tree(Path(folder))
        before = run_tests(copy, sorted({each.test for each in chosen}), compile_modules=True)
        if before.returncode:
            sys.exit(f"These tests must pass before anything is broken:\n{before.stdout}")
        survived = sum([not try_mutation(copy, each) for each in chosen])
    print(f"{len(chosen) - survived} of {len(chosen)} mutations were noticed.")
    return survived


def copy_tree(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def try_mutation(copy: Path, mutation: Mutation) -> bool:
    """Apply a mutation, run its test, undo it, and say whether the test failed."""
    path, started = copy / SOURCE / mutation.path, time.monotonic()
    text = path.read_text(encoding="utf-8")
    path.write_text(mutate(text, mutation), encoding="utf-8")
    done = run_tests(copy, [mutation.test])
    path.write_text(text, encoding="utf-8")
    # pytest ends with 1 if tests ran and some failed.
    verdict = {0: "SURVIVED", 1: "caught"}.get(done.returncode, f"NOT RUN (pytest ended with {done.returncode})")
    print(f"{verdict:8} {mutation.path}: {mutation.after}\n         by {mutation.test}", end="")
    print(f" ({time.monotonic() - started:.0f} s)", flush=True)
    return done.returncode == 1


def mutate(text: str, mutation: Mutation) -> str:
    """Apply a mutation to the text of a file, in which its line occurs once."""
    if text.count(mutation.before) != 1:
        raise ValueError(f"{mutation.path} must hold this once: {mutation.before}")
    return text.replace(mutation.before, mutation.after)


def run_tests(copy: Path, tests: list[str], *, compile_modules: bool = False) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy, until one fails.

    The first run keeps the compiled modules, and later runs start faster with them. Python compiles a broken file
    again, because its time differs.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {
        "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy / 'tests' / 'support'}",
        "PYTHONPYCACHEPREFIX": str(copy / "compiled"),
        "PYTHONDONTWRITEBYTECODE": "" if compile_modules else "1",
    }
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
