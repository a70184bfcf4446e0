"""A profile gives every level that a mechanism needs, or refuses."""

from dataclasses import MISSING, fields

import numpy as np
import pytest

from shortlist import DataError
from shortlist.mechanisms import MECHANISMS, Joint
from shortlist.profile import EVERY_LEVEL, Profile
from shortlist.testing import SeededBits


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_incomplete_profile_is_refused(name):
    """A mechanism that would have to guess the lower levels says so, instead of drawing by a wrong law."""
    kind = MECHANISMS[name]
    needed = {field.name for field in fields(kind) if field.default is MISSING} - {"k", "epsilon"}
    mechanism = kind(k=1, epsilon="0.001", **{each: {"delta": "1e-6", "votes_per_person": 1}[each] for each in needed})
    with pytest.raises(DataError, match="must hold every level that the mechanism needs") as caught:
        mechanism.prepare(Profile.of([9, 9], d=4)).draw(SeededBits(1))
    assert "9" not in str(caught.value)
    mechanism.prepare(Profile.of([9, 9, 0, 0])).draw(SeededBits(1))


def test_a_profile_that_reaches_far_enough_is_taken():
    """Levels that cannot matter may be missing; all that may be asked for is there."""
    top = Profile.of(np.array([9, 8, 5]), d=10)
    assert top.above(1, 4) is top
    assert top.above(2, 3) is top
    for k, depth in ((1, 5), (2, 4), (4, 0), (1, EVERY_LEVEL)):
        with pytest.raises(DataError):
            top.above(k, depth)


def test_a_hidden_item_is_drawn_as_often_as_it_should():
    """With the complete profile, an item without votes is drawn in about half of all draws at a tiny epsilon."""
    prepared = Joint(k=1, epsilon="0.001").prepare(Profile.of([9, 9, 0, 0]))
    bits = SeededBits(3)
    hidden = sum(int(prepared.draw(bits).levels[0]) == 0 for _ in range(2000))
    assert 800 < hidden < 1200
