"""Warnings about a release that is made as asked but says little, or protects little.

They depend on public numbers and on what is released, so a warning tells nobody more than the release does.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

from shortlist.mechanisms.accuracy import write_votes
from shortlist.release.release import Release

LARGE_EPSILON = 20
LARGE_RISK = Fraction(1, 10)
"""A delta times the number of people above this is remarked on: delta must be far below 1/people."""
LARGE_DELTA = Fraction(1, 1000)
"""Without a number of people, a delta above this is remarked on."""
LARGE_BOUND = 10_000
"""A bound of more votes than this is remarked on, where neither people nor counts say more about it."""


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
    return [*found, *_judge_bound(release, people)]


def warn(release: Release, people: int | None, *, stacklevel: int) -> None:
    """Give these warnings to the caller. Where warnings are errors they are shown all the same, and nothing is lost."""
    for text in find_warnings(release, people):
        try:
            warnings.warn(text, UsefulnessWarning, stacklevel=stacklevel + 1)
        except UsefulnessWarning:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UsefulnessWarning)
                warnings.warn(text, UsefulnessWarning, stacklevel=stacklevel + 1)


def _judge_bound(release: Release, people: int | None) -> list[str]:
    """Compare the bound on the error with what public numbers and the noisy counts say about the votes of a place."""
    bounds = [each for each in (release.error_bound, release.assessment and release.assessment.bound) if each]
    least = min((bound.votes for bound in bounds), default=0)
    if not least or not release.items:
        return []
    start, found = f"the bound on the error is {least:,} votes, and", []
    if people is not None:
        most, last = _find_most_votes(release, people)
        if least >= most:
            found.append(f"{start} there are {people:,} people: the list may be almost random")
        elif least >= last:
            cap = release.parameters["votes_per_person"]
            found.append(
                f"{start} with at most {write_votes(cap)} of each of {people:,} people, the true item at place "
                f"{len(release):,} has at most {write_votes(last)}: the last places may hold random items"
            )
    if release.counts is not None:
        largest = max(release.counts.high or release.counts.values)
        below = sum(each < least for each in release.counts.values)
        if least > largest:
            found.append(f"{start} no count is above {largest:,}")
        elif below:
            found.append(f"{start} {below:,} of {len(release):,} noisy counts are below it: these may be random items")
    elif not found and least > LARGE_BOUND:
        found.append(f"the bound on the error is {least:,} votes: the list says little if the counts are below that")
    return found


def _find_most_votes(release: Release, people: int) -> tuple[int, int]:
    """How many votes the true items can have: each of them, and the one at the last listed place.

    The k largest counts sum to at most all votes. So the last of them is at most a k-th of all votes.
    """
    most = people * release.parameters.get("sensitivity", 1)
    cap = release.parameters.get("votes_per_person")
    return most, most if cap is None else min(most, people * cap // len(release))
