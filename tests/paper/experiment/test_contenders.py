"""The mechanisms as the experiment runs them."""

import numpy as np
import pytest

from shortlist.paper.experiment.contenders import CONTENDERS, Setting
from shortlist.paper.published import PUBLISHED

AT = Setting(k=4, epsilon=0.5, beta=2.0**-10)
COUNTS = np.random.default_rng(3).integers(0, 60, 40)


def test_all_mechanisms_of_the_evaluation_are_there():
    """Four as published, five of ours."""
    assert list(CONTENDERS) == [
        *(f"published-{law}" for law in ("fastjoint", "joint", "pnf-peel", "cdp-peel")),
        *("joint", "fastjoint", "pnf-joint", "pnf-peel", "cdp-peel"),
    ]
    assert len({contender.label for contender in CONTENDERS.values()}) == 9


@pytest.mark.parametrize("name", CONTENDERS)
def test_a_seed_repeats_a_draw(name):
    """The same seed names the same k distinct items; other seeds do not always."""
    draws = [CONTENDERS[name].draw(COUNTS, AT, seed) for seed in (1, 1, *range(2, 12))]
    items = [tuple(drawn.items.tolist()) for drawn in draws]
    assert items[0] == items[1]
    assert len(set(items)) > 1
    assert all(len(set(each)) == AT.k for each in items)
    assert all(drawn.seconds > 0 for drawn in draws)


def test_the_published_joint_in_two_steps_is_the_published_joint():
    """Timing the first step apart changes nothing in the draw."""
    for seed in range(20):
        drawn = CONTENDERS["published-joint"].draw(COUNTS, AT, seed)
        rng = np.random.Generator(np.random.PCG64(seed))
        assert (drawn.items == PUBLISHED["joint"](COUNTS, AT.k, AT.epsilon, rng=rng)).all()
        assert 0 < drawn.before_sequence < drawn.seconds


def test_only_fastjoint_has_beta():
    """All others are measured once, whatever beta is."""
    assert {name for name, each in CONTENDERS.items() if each.has_beta} == {"published-fastjoint", "fastjoint"}
