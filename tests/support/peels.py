"""The law that a run of rounds implies, asked of the run itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import ClassVar

import numpy as np
from contract import Subject
from divergences import ball
from flint import arb
from laws import Histogram, sequences

from shortlist.exact.choice import LossRange
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.peel import FlipDraws, PeelLevels, PeelRun, SuccessiveDraws
from shortlist.mechanisms.stated import RoundLaw, decay, exponential_round, flip_round, peel_law
from shortlist.profile import Profile
from shortlist.testing import SeededBits

__all__ = ["PeelLaw", "ask_run", "ball", "decay", "exponential_round", "flip_round", "peel_law", "single_levels"]


class PeelLaw(Subject):
    """A mechanism of rounds: subclasses say who wins one."""

    round_law: ClassVar[RoundLaw]

    def implied_law(self, mechanism: Mechanism, histogram: Histogram) -> list[arb]:
        """Peel along every sequence of levels, and ask the run itself how much what is left weighs."""
        profile = Profile.of(np.array(histogram))
        prepared = mechanism.prepare(profile)
        assert isinstance(prepared, SuccessiveDraws | FlipDraws)
        next_chances, values = ask_run(prepared.peeling, self.round_law), profile.values.tolist()
        law = []
        for sequence in sequences(len(histogram), mechanism.k):
            path, probability = tuple(values.index(histogram[item]) for item in sequence), arb(1)
            for place, level in enumerate(path):
                probability *= next_chances(path[:place])[level]
            law.append(probability)
        return law


def ask_run(peeling: PeelLevels, round_law: RoundLaw) -> Callable[[tuple[int, ...]], dict[int, arb]]:
    """Return a function: the chance of one item of each level that is left, after items of some levels were taken."""

    @cache
    def next_chances(path: tuple[int, ...]) -> dict[int, arb]:
        run = PeelRun(peeling, SeededBits(0))
        for level in path:
            run.take(level, 0)
        ranges = list(single_levels(run.left()))
        levels = [run.find_level(each.first) for each in ranges for _ in range(each.members)]
        chances = round_law([decay for each in ranges for decay in repeat(each)])
        return dict(zip(levels, chances, strict=True))

    return next_chances


def repeat(level: LossRange) -> Sequence[arb]:
    """The weight of each item of a level, as one object."""
    return [level.decay()] * level.members


def single_levels(levels: LossRange) -> Iterable[LossRange]:
    """Split a range until every level stands alone."""
    parts = levels.split()
    if parts is None:
        yield levels
    else:
        for part in parts:
            yield from single_levels(part)
