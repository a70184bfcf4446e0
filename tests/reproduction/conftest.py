"""Histograms, results that are made up, and how a sampled law is judged."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from real_data import find_real_data
from scipy.stats import chisquare

from reproduction.experiment.datasets import DATASETS, Histogram
from reproduction.experiment.grid import CONTENDERS, Contender, Grid, Setting, list_programs
from reproduction.experiment.store import DataInfo, Errors, Results, RunInfo, Times

Curve = Callable[[Contender, int, Setting], float]
Law = dict[tuple[int, ...], float]
THRESHOLD = 1e-9


@pytest.fixture(scope="session")
def real_counts() -> Callable[[str], np.ndarray]:
    """Load a real histogram by name."""
    return lambda name: np.load(find_real_data(f"{name}.counts.npy"))


@pytest.fixture(scope="session")
def small() -> Callable[..., Histogram]:
    """Make a small histogram under the name of a data set."""

    def make(name: str = "games", *, d: int = 250, stand_in: bool = True) -> Histogram:
        counts = np.sort(np.random.default_rng(5).integers(0, 400, d))[::-1].copy()
        return Histogram(dataset=DATASETS[name], counts=counts, origin=None if stand_in else Path(f"{name}.counts.npy"))

    return make


@pytest.fixture(scope="session")
def invented() -> Callable[..., Results]:
    """Make up the results of a whole grid from curves of time, of error and of the part before the sequence step."""

    def make(
        *names: str,
        seconds: Curve = lambda contender, d, at: 1e-2,
        error: Curve = lambda contender, d, at: 10.0,
        part: Curve = lambda contender, d, at: 0.99,
        memory: Curve = lambda contender, d, at: 1e6 if contender.law == "joint" else 1e5,
        trials: int = 200,
        rounds: int = 20,
        stand_ins: tuple[str, ...] = (),
        vary: tuple[str, ...] = ("k", "epsilon", "beta"),
        released: bool = False,
    ) -> Results:
        results = Results()
        info = RunInfo(started="now", command="shortlist", code="a", release="b", machine="2 cores", released="")
        results.runs[1] = info
        sizes = {name: DATASETS[name].d for name in names}
        for name in names:
            results.data[name] = DataInfo(d=sizes[name], fingerprint="c", stand_in=name in stand_ins)
        grid, programs = Grid(datasets=names, vary=vary), list_programs(released=released)
        wave = np.resize([0, 1, 2, 3, 4], trials)
        for cell in grid.error_cells(programs) if trials else []:
            loss = int(error(CONTENDERS[cell.contender], sizes[cell.dataset], cell.setting))
            found = np.maximum(loss + wave, 0)
            results.errors[cell] = Errors(
                linf=found, l1=cell.setting.k * found, repeats=np.zeros(trials, dtype=np.int64), runs=frozenset({1})
            )
        for cell in grid.time_cells(programs) if rounds else []:
            program = CONTENDERS[cell.contender]
            time = seconds(program, sizes[cell.dataset], cell.setting)
            wobble = time * (1 + np.arange(rounds) % 5 / 100)
            share = part(program, sizes[cell.dataset], cell.setting) if program.law == "joint" else np.nan
            none = np.zeros(rounds, dtype=np.int64)
            results.times[cell] = Times(
                trial=np.arange(rounds),
                wall=wobble,
                cpu=wobble,
                before_cpu=share * wobble,
                linf=none,
                l1=none,
                repeats=none,
                load=np.ones(rounds),
                runs=frozenset({1}),
            )
        for cell in grid.memory_cells(programs, sizes) if rounds else []:
            held = memory(CONTENDERS[cell.contender], sizes[cell.dataset], cell.setting)
            results.memory[cell] = int(held)
        for key in results.errors:
            if key[1] == "published-fastjoint":
                results.tails[key] = (1000, -20.0)
        return results

    return make


@pytest.fixture
def assert_law() -> Callable[..., None]:
    """Draw many sequences; accept the law at their epsilon, and reject it at 0.7 and 1.3 times that."""

    def judge(
        mechanism: Callable[..., np.ndarray],
        law: Callable[[list[int], int, float], Law],
        counts: list[int],
        k: int,
        epsilon: float,
        *,
        runs: int,
        **options: float,
    ) -> None:
        rng = np.random.default_rng(20240607)
        drawn = [tuple(mechanism(counts, k, epsilon, rng=rng, **options).tolist()) for _ in range(runs)]
        assert p_value(drawn, law(counts, k, epsilon)) > THRESHOLD
        assert p_value(drawn, law(counts, k, 0.7 * epsilon)) < THRESHOLD
        assert p_value(drawn, law(counts, k, 1.3 * epsilon)) < THRESHOLD

    return judge


@pytest.fixture
def joint_law() -> Callable[..., Law]:
    """Enumerate P(s) ∝ exp(−ε·min(L(s), tau)/2) over all sequences."""

    def enumerate_law(counts: list[int], k: int, epsilon: float, *, tau: float = np.inf) -> Law:
        top = sorted(counts, reverse=True)
        weights = {
            s: np.exp(-epsilon / 2 * min(tau, max(top[j] - counts[item] for j, item in enumerate(s))))
            for s in permutations(range(len(counts)), k)
        }
        total = sum(weights.values())
        return {s: weight / total for s, weight in weights.items()}

    return enumerate_law


def p_value(drawn: Iterable[tuple[int, ...]], law: Law) -> float:
    """Test the drawn sequences against a law; sequences too rare for the test are one cell together."""
    seen = Counter(drawn)
    runs = seen.total()
    assert set(seen) <= set(law)
    assert sum(law.values()) == pytest.approx(1, abs=1e-4)
    common = [s for s in law if law[s] * runs >= 5]
    observed = [seen[s] for s in common]
    expected = [law[s] * runs for s in common]
    observed.append(runs - sum(observed))
    expected.append(runs - sum(expected))
    if expected[-1] < 5:
        observed[-2:] = [sum(observed[-2:])]
        expected[-2:] = [sum(expected[-2:])]
    return float(chisquare(observed, expected).pvalue)
