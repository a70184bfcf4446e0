"""The programs of the experiment: their names, and one timed list of each."""

import numpy as np
import pytest

from reproduction import PUBLISHED
from reproduction.experiment.grid import CONTENDERS, Maker, Setting, list_programs
from reproduction.experiment.trials import measure_memory, permute, time_list

AT = Setting(k=4, epsilon=0.5, beta=2.0**-10)
HERE = [name for name, each in list_programs(released=False).items() if each.has_time]


def test_all_programs_of_the_evaluation_are_there():
    """Four released, the published ones with what the paper only describes or names, and ours."""
    paper = ("fastjoint", "joint", "pnf-peel", "cdp-peel")
    assert list(CONTENDERS)[:12] == [
        *(f"released-{law}" for law in paper),
        *(f"published-{law}" for law in (*paper, "fastjoint-buckets", "truncated-peel", "laplace", "gamma")),
    ]
    assert {"joint", "fastjoint", "pnf-joint", "pnf-peel", "cdp-peel"} <= set(CONTENDERS)
    assert len({each.label for each in CONTENDERS.values()}) == len(CONTENDERS)


def test_released_programs_need_their_folder():
    """Without it none of them runs, and nothing else is missing."""
    assert {each.maker for each in list_programs(released=False).values()} == {Maker.PUBLISHED, Maker.OURS}
    assert list_programs(released=True) == CONTENDERS


@pytest.mark.parametrize("name", HERE)
def test_a_seed_repeats_a_list(small, name):
    """The same seed gives the same k distinct items; other seeds do not always."""
    lists = [time_list(CONTENDERS[name], small(), AT, seed) for seed in (1, 1, *range(2, 12))]
    counts = [tuple(each.counts.tolist()) for each in lists]
    assert counts[0] == counts[1]
    assert len(set(counts)) > 1
    assert all(each.repeats == 0 and each.wall > 0 and each.cpu >= 0 for each in lists)


def test_the_published_joint_in_two_steps_is_the_published_joint(small):
    """Reading the clock between the steps changes nothing in the list."""
    for seed in range(20):
        timed = time_list(CONTENDERS["published-joint"], small(), AT, seed)
        counts = permute(small(), seed)
        rng = np.random.Generator(np.random.PCG64(seed))
        assert (timed.counts == counts[PUBLISHED["joint"](counts, AT.k, AT.epsilon, rng=rng)]).all()
        assert 0 <= timed.before_cpu <= timed.cpu


def test_joint_takes_more_memory_than_fastjoint(small):
    """k·d numbers against d and k·τ."""
    at = Setting(k=4, epsilon=4.0, beta=2.0**-10)
    held = {name: measure_memory(CONTENDERS[name], small(d=20_000), at, 0) for name in HERE[:2]}
    assert held["published-joint"] > held["published-fastjoint"] > 10_000


def test_only_fastjoint_has_beta():
    """All others are measured once, whatever beta is."""
    assert {each.law for each in CONTENDERS.values() if each.has_beta} == {"fastjoint", "fastjoint-buckets"}
