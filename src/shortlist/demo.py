"""The demonstration: an invented log of plays, and what one listener changes in its release.

The log is the same on every machine, and its shape is realistic. Few listeners and few tracks make up most of the
plays. Tracks are played repeatedly. Some rows have no track, and some name a track that is not in the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import SeededBits
from shortlist.mechanisms import Joint
from shortlist.selection import prepare

_FIRST = """
    Amber Autumn Borrowed Broken Burning Copper Crooked Crystal Distant Dusty Electric Empty Faded Fallen
    Feather Foreign Frozen Gentle Ghost Gilded Hollow Hidden Honest Indigo Iron Ivory Lazy Little Lonely
    Midnight Morning Neon Northern Only Paper Patient Perfect Quiet Restless Rolling Salt Secret Silver
    Sleeping Slow Tender Velvet Wandering Wild Winter
"""
_SECOND = """
    Anchor Avenue Balcony Bicycle Birds Boulevard Candle Carousel Cathedral Comet Compass Corner Dancer
    Daydream Ember Engine Ferry Garden Harbour Highway Horizon Island Kingdom Ladder Lantern Letter Lighthouse
    Machine Meadow Mirror Motel Ocean Orchard Parade Piano Postcard Radio Rain River Satellite Season Shadow
    Station Summer Tide Thunder Train Valley Window Wires
"""

_TRACKS = 2000
_NEW = 40
_ABSENT, _ELSEWHERE = -1, _TRACKS
_FIRST_OF_JUNE = 1_748_736_000


@dataclass(frozen=True, kw_only=True)
class PlayLog:
    """Who played what: `people[i]` played `tracks[i]`, by their numbers."""

    people: IntArray
    tracks: IntArray
    names: list[str]

    @classmethod
    def invent(cls, *, plays: int, people: int, seed: int = 55) -> PlayLog:
        """Make a log from a seed."""
        bits = SeededBits(seed)
        declining = np.power(np.arange(_TRACKS, dtype=np.float64) + 10.0, -0.8)
        popularity = declining * np.exp(_draw_fractions(bits, _TRACKS))
        popularity[-_NEW:] = 0  # new in the catalogue, and not played yet
        activity = np.power(_draw_fractions(bits, people), -0.4)
        tracks = _draw_choices(bits, popularity, plays)
        oddity = _draw_fractions(bits, plays)
        tracks[oddity < 0.03] = _ELSEWHERE
        tracks[oddity < 0.01] = _ABSENT
        names = [f"{first} {second}" for first in _FIRST.split() for second in _SECOND.split()]
        order = np.argsort(_draw_fractions(bits, len(names)))[:_TRACKS].tolist()
        return cls(people=_draw_choices(bits, activity, plays), tracks=tracks, names=[names[each] for each in order])

    @cached_property
    def pairs(self) -> IntArray:
        """Each pair of a person and a track of the catalogue, once, as person * number of tracks + track."""
        inside = (self.tracks != _ABSENT) & (self.tracks != _ELSEWHERE)
        return np.unique(self.people[inside] * _TRACKS + self.tracks[inside])

    @cached_property
    def counts(self) -> IntArray:
        """How many people played each track of the catalogue."""
        return np.bincount(self.pairs % _TRACKS, minlength=_TRACKS)

    def find_most_active(self) -> int:
        """Find the person who played the most different tracks."""
        return int(np.bincount(self.pairs // _TRACKS).argmax())

    def remove_person(self, person: int) -> PlayLog:
        """Make the log without one person."""
        others = self.people != person
        return PlayLog(people=self.people[others], tracks=self.tracks[others], names=self.names)

    def to_arrow(self) -> Any:
        """Make an Arrow table of the log: played_at, user_id, track."""
        import pyarrow as pa

        missing = np.where(self.tracks == _ABSENT, 0, self.tracks)
        tracks = pa.DictionaryArray.from_arrays(
            pa.array(missing, mask=self.tracks == _ABSENT), [*self.names, "untitled recording"]
        )
        seconds = _FIRST_OF_JUNE + np.arange(len(self.people)) * (30 * 86_400) // len(self.people)
        users = [f"u{number:05d}" for number in range(int(self.people.max()) + 1)]
        return pa.table(
            {
                "played_at": pa.array(seconds, pa.timestamp("s")),
                "user_id": pa.DictionaryArray.from_arrays(pa.array(self.people), users).dictionary_decode(),
                "track": tracks.dictionary_decode(),
            }
        )

    def write(self, plays: Path, catalogue: Path) -> None:
        """Write the log as Parquet, and the public list of tracks as CSV."""
        import pyarrow.parquet as pq

        pq.write_table(self.to_arrow(), plays)
        catalogue.write_text("\n".join(["track", *sorted(self.names)]) + "\n", encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The lists with the most active listener and those without."""

    person: int
    tracks: int
    """How many different tracks this person played."""
    draws: int
    agreement_with: float
    """In how many places two lists with the person agree, on average."""
    agreement_without: float
    """In how many places a list with the person and one without agree, on average."""
    chance_with: float
    chance_without: float
    limit: float
    """e^ε: the largest ratio of the two probabilities that the guarantee allows."""

    @property
    def ratio(self) -> float:
        """The larger probability of the list over the smaller one."""
        return max(self.chance_with, self.chance_without) / min(self.chance_with, self.chance_without)


def compare(log: PlayLog, items: Sequence[str], *, epsilon: int, draws: int = 200) -> Comparison:
    """Compare the log with the log without its most active listener. Both logs are invented, so draws cost nothing."""
    person = log.find_most_active()
    without = log.remove_person(person)
    joint = Joint(k=len(items), epsilon=epsilon)
    ours = np.array(prepare(log.counts, mechanism=joint).draw_many(2 * draws))
    theirs = np.array(prepare(without.counts, mechanism=joint).draw_many(draws))
    numbers = {name: number for number, name in enumerate(log.names)}
    chosen = np.array([numbers[item] for item in items])
    return Comparison(
        person=person,
        tracks=int(np.sum(log.counts != without.counts)),
        draws=draws,
        agreement_with=float(np.mean(ours[:draws] == ours[draws:]) * joint.k),
        agreement_without=float(np.mean(ours[:draws] == theirs) * joint.k),
        chance_with=math.exp(compute_log_probability(log.counts, chosen, epsilon)),
        chance_without=math.exp(compute_log_probability(without.counts, chosen, epsilon)),
        limit=math.exp(epsilon),
    )


def compute_log_probability(counts: IntArray, chosen: IntArray, epsilon: float) -> float:
    """Compute the logarithm of the probability that Joint chooses this list, for the add-remove relation.

    Joint chooses s with probability q^L(s) / Σ q^L. The sum is (1 − q) Σ_r q^r N_r, where N_r is the number of lists
    with a loss of at most r. Floats are exact enough here: the number is shown, and nothing is decided by it.

    >>> counts = np.array([3, 1, 0])
    >>> chances = [math.exp(compute_log_probability(counts, np.array([item]), 1.0)) for item in range(3)]
    >>> round(sum(chances), 9)
    1.0
    """
    k, d = len(chosen), len(counts)
    rising = np.sort(counts)
    top = rising[::-1][:k]
    loss = int(np.max(top - counts[chosen]))
    largest = int(top[0] - rising[0])
    floors = top[:, None] - np.arange(largest + 1)
    allowed = d - np.searchsorted(rising, floors) - np.arange(k)[:, None]
    rate = epsilon / 2
    terms = np.log(allowed).sum(axis=0) - rate * np.arange(largest + 1)
    # From the largest loss on, N_r is the number of all lists, and the terms are a geometric series.
    terms[:-1] += math.log(-math.expm1(-rate))
    return float(-rate * loss - np.logaddexp.reduce(terms))


def _draw_fractions(bits: SeededBits, count: int) -> FloatArray:
    """Draw numbers that are uniform in (0, 1)."""
    whole = np.frombuffer(bits.draw(8 * count), np.uint64) >> np.uint64(11)
    return (whole.astype(np.float64) + 0.5) * 2.0**-53


def _draw_choices(bits: SeededBits, weights: FloatArray, count: int) -> IntArray:
    """Draw indices with probabilities proportional to the weights."""
    ends = np.cumsum(weights)
    chosen: IntArray = np.searchsorted(ends, _draw_fractions(bits, count) * ends[-1])
    return chosen
