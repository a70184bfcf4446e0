"""How a sampled law is judged: it must match the stated one, and miss it when epsilon is 30 % off."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

Law = dict[tuple[int, ...], float]
THRESHOLD = 1e-9


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
