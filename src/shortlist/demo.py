"""The demonstration: an invented log of plays, and what one listener changes in its release.

The log is the same on every machine, and its shape is realistic. Few listeners and few tracks make up most of the
plays. Tracks are played repeatedly. Some rows have no track, and some name a track that is not in the catalogue. Each
listener lives in one of three countries, and every country has favourites of its own.
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
from shortlist.profile import Profile
from shortlist.selection import prepare

_FIRST = """
    Amber Autumn Blue Brave Bright Broken Calm Clever Copper Dusty Early Empty Faded Fallen Frozen Gentle Ghost Gilded
    Golden Green Half Hidden Hollow Honest Indigo Iron Ivory Kind Late Lazy Little Lonely Lost Loud Lucky Neon Old Only
    Open Paper Quiet Red Salt Secret Silver Slow Tender Velvet Wild Winter
"""
_SECOND = """
    Anchor Avenue Balcony Bicycle Birds Bridge Candle Comet Compass Corner Dancer Ember Engine Ferry Garden Harbour
    Highway Horizon Island Kingdom Kite Ladder Lantern Letter Machine Marble Meadow Mirror Motel Ocean Orchard Parade
    Piano Pocket Radio Rain River Season Shadow Signal Station Summer Sunday Thunder Tide Train Valley Willow Window
    Wires
"""

_TRACKS = 2000
_NEW = 40
_ABSENT, _ELSEWHERE = -1, _TRACKS
_FIRST_OF_JUNE = 1_748_736_000
COUNTRIES = {"DE": 0.55, "FR": 0.3, "IE": 0.15}
"""The share of the listeners that live in each country."""


@dataclass(frozen=True, kw_only=True)
class PlayLog:
    """Who played what, and how long: `people[i]` played `tracks[i]`, by their numbers, for `seconds[i]`.

    Person p lives in the country `homes[p]`.
    """

    people: IntArray
    tracks: IntArray
    seconds: IntArray
    names: list[str]
    homes: IntArray

    @classmethod
    def invent(cls, *, plays: int, people: int, seed: int = 55) -> PlayLog:
        """Make a log from a seed."""
        bits = SeededBits(seed)
        declining = np.power(np.arange(_TRACKS, dtype=np.float64) + 10.0, -1.0)
        popularity = declining * np.exp(_draw_fractions(bits, _TRACKS))
        popularity[-_NEW:] = 0  # new in the catalogue, and not played yet
        activity = np.power(_draw_fractions(bits, people), -0.4)
        tracks = _draw_choices(bits, popularity, plays)
        listeners = _draw_choices(bits, activity, plays)
        homes = _draw_choices(bits, np.array(list(COUNTRIES.values())), people)
        # Half of the plays follow the taste of the country, whose favourites are other tracks.
        shifts = np.where(_draw_fractions(bits, plays) < 0.5, 500 * (1 + homes[listeners]), 0)
        tracks = (tracks + shifts) % (_TRACKS - _NEW)
        oddity = _draw_fractions(bits, plays)
        tracks[oddity < 0.03] = _ELSEWHERE
        tracks[oddity < 0.01] = _ABSENT
        names = [f"{first} {second}" for first in _FIRST.split() for second in _SECOND.split()]
        order = np.argsort(_draw_fractions(bits, len(names)))[:_TRACKS].tolist()
        lengths = 120 + 240 * _draw_fractions(bits, _TRACKS + 1)
        seconds = (np.sqrt(_draw_fractions(bits, plays)) * lengths[tracks]).astype(np.int64)  # most play to the end
        named = [names[each] for each in order]
        return cls(people=listeners, tracks=tracks, seconds=seconds, names=named, homes=homes)

    @cached_property
    def pairs(self) -> IntArray:
        """Each pair of a person and a track of the catalogue, once, as person * number of tracks + track."""
        inside = (self.tracks != _ABSENT) & (self.tracks != _ELSEWHERE)
        return np.unique(self.people[inside] * _TRACKS + self.tracks[inside])

    @cached_property
    def counts(self) -> IntArray:
        """How many people played each track of the catalogue."""
        return np.bincount(self.pairs % _TRACKS, minlength=_TRACKS)

    def count_country(self, country: str) -> IntArray:
        """Count how many people of one country played each track of the catalogue."""
        inside = self.homes[self.pairs // _TRACKS] == list(COUNTRIES).index(country)
        return np.bincount(self.pairs[inside] % _TRACKS, minlength=_TRACKS)

    def find_most_active(self) -> int:
        """Find the person who played the most different tracks."""
        return int(np.bincount(self.pairs // _TRACKS).argmax())

    def count_others(self, person: int) -> IntArray:
        """Count how many people other than one played each track of the catalogue."""
        return np.bincount(self.pairs[self.pairs // _TRACKS != person] % _TRACKS, minlength=_TRACKS)

    def to_arrow(self) -> Any:
        """Make an Arrow table of the log: played_at, user_id, country, track, seconds."""
        import pyarrow as pa

        moments = _FIRST_OF_JUNE + np.arange(len(self.people)) * (30 * 86_400) // len(self.people)
        tracks = np.array([*self.names, "untitled recording", None], dtype=object)  # the last is `_ABSENT`
        columns = {
            "played_at": pa.array(moments, pa.timestamp("s")),
            "user_id": [f"u{person:05d}" for person in self.people.tolist()],
            "country": np.array(list(COUNTRIES), dtype=object)[self.homes[self.people]],
            "track": tracks[self.tracks],
            "seconds": self.seconds,
        }
        return pa.table(columns)

    def write(self, plays: Path, catalogue: Path, countries: Path) -> None:
        """Write the log as Parquet, and the public lists of tracks and countries as CSV."""
        import pyarrow.parquet as pq

        pq.write_table(self.to_arrow(), plays)
        catalogue.write_text("\n".join(["track", *sorted(self.names)]) + "\n", encoding="utf-8")
        countries.write_text("\n".join(["country", *COUNTRIES]) + "\n", encoding="utf-8")


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
    others = log.count_others(person)
    joint = Joint(k=len(items), epsilon=epsilon)
    ours = np.array(prepare(log.counts, mechanism=joint).draw_many(2 * draws))
    theirs = np.array(prepare(others, mechanism=joint).draw_many(draws))
    numbers = {name: number for number, name in enumerate(log.names)}
    chosen = np.array([numbers[item] for item in items])
    return Comparison(
        person=person,
        tracks=int(np.sum(log.counts != others)),
        draws=draws,
        agreement_with=float(np.mean(ours[:draws] == ours[draws:]) * joint.k),
        agreement_without=float(np.mean(ours[:draws] == theirs) * joint.k),
        chance_with=compute_chance(joint, log.counts, chosen),
        chance_without=compute_chance(joint, others, chosen),
        limit=math.exp(epsilon),
    )


def compute_chance(joint: Joint, counts: IntArray, chosen: IntArray) -> float:
    """Compute the probability that Joint chooses this list, s: q^L(s) / Σ q^L. Nothing is decided by this float.

    >>> joint, counts = Joint(k=1, epsilon=1), np.array([3, 1, 0])
    >>> round(sum(compute_chance(joint, counts, np.array([item])) for item in range(3)), 9)
    1.0
    """
    prepared: Any = joint.prepare(Profile.of(counts))
    loss = int(np.max(np.sort(counts)[::-1][: joint.k] - counts[chosen]))
    return math.exp(-joint.rate * loss) / float(prepared.total().mid())


def _draw_fractions(bits: SeededBits, count: int) -> FloatArray:
    """Draw numbers that are uniform in (0, 1)."""
    whole = np.frombuffer(bits.draw(8 * count), np.uint64) >> np.uint64(11)
    return (whole.astype(np.float64) + 0.5) * 2.0**-53


def _draw_choices(bits: SeededBits, weights: FloatArray, count: int) -> IntArray:
    """Draw indices with probabilities proportional to the weights."""
    ends = np.cumsum(weights)
    chosen: IntArray = np.searchsorted(ends, _draw_fractions(bits, count) * ends[-1])
    return chosen
