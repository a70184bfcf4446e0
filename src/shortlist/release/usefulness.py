"""Warnings about a release that is made as asked but says little, or protects little.

They depend on public numbers and on what is released, so a warning tells nobody more than the release does.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

from shortlist.release.release import Release

LARGE_EPSILON = 20
LARGE_RISK = Fraction(1, 10)
"""A delta times the number of people above this is remarked on: delta must be far below 1/people."""
LARGE_DELTA = Fraction(1, 1000)
"""Without a number of people, a delta above this is remarked on."""
LARGE_BOUND = 10_000
"""Without a number of people, a bound of more votes than this is remarked on."""


class UsefulnessWarning(UserWarning):
    """A list may be useless, or a guarantee may promise almost nothing. The release is made all the same."""


def find_warnings(release: Release, people: int | None) -> list[str]:
    """Say what the owner of the data should know about a release.

    >>> from shortlist import prepare
    >>> release = prepare({"apple": 310, "pear": 190, "plum": 12}, k=2, epsilon="0.01", mechanism="joint").release()
    >>> find_warnings(release, people=400)
    ['the bound on the error is 957 votes, and there are 400 people: the list may be almost random']
    """
    found = []
    if release.guarantee.epsilon > LARGE_EPSILON:
        found.append(f"an epsilon above {LARGE_EPSILON} promises almost nothing; 1 is common")
    delta = release.guarantee.delta
    if people is not None and delta * people > LARGE_RISK:
        found.append(f"a delta of {float(delta):g} is not far below 1/{people:,}, one divided by the number of people")
    elif people is None and delta > LARGE_DELTA:
        found.append(f"a delta of {float(delta):g} is large: it must be far below one divided by the number of people")
    bounds = [each for each in (release.error_bound, release.assessment and release.assessment.bound) if each]
    least = min((bound.votes for bound in bounds), default=0)
    if people is None and release.counts is not None:
        largest = max(release.counts.high or release.counts.values, default=0)
        if least > largest:
            found.append(f"the bound on the error is {least:,} votes, and no count is above {largest:,}")
    elif people is not None and least > people:
        found.append(
            f"the bound on the error is {least:,} votes, and there are {people:,} people: the list may be almost random"
        )
    elif people is None and least > LARGE_BOUND:
        found.append(f"the bound on the error is {least:,} votes: the list says little if the counts are below that")
    return found


def warn(release: Release, people: int | None, *, stacklevel: int) -> None:
    """Give these warnings to the caller. Where warnings are errors they are shown all the same, and nothing is lost."""
    for text in find_warnings(release, people):
        try:
            warnings.warn(text, UsefulnessWarning, stacklevel=stacklevel + 1)
        except UsefulnessWarning:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UsefulnessWarning)
                warnings.warn(text, UsefulnessWarning, stacklevel=stacklevel + 1)
