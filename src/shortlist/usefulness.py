"""Warnings about a release that says little, or that protects little.

They depend on public numbers and on what is released, so a warning tells nobody more than the release does.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import partial

from shortlist.caption import count_drawn, write_range
from shortlist.privacy.numbers import write_count
from shortlist.release import GroupList, Publication, Release
from shortlist.terms import find_least_bound

_LARGE_EPSILON = 20
_LARGE_RISK = Fraction(1, 10)
"""A delta times the number of people above this is remarked on: delta must be far below 1/people."""
_LARGE_DELTA = Fraction(1, 1000)
"""Without a number of people, a delta above this is remarked on."""
_LARGE_BOUND = 10_000
"""A bound of more votes than this is remarked on, where neither people nor counts say more about it."""


class UsefulnessWarning(UserWarning):
    """A list may be useless, or a guarantee may promise almost nothing. The release is made all the same."""


def show_warning(text: str, category: type[Warning], *, stacklevel: int) -> None:
    """Warn. Where warnings are errors they are shown all the same, so that a release that is made is not lost."""
    try:
        warnings.warn(text, category, stacklevel=stacklevel)
    except category:
        with warnings.catch_warnings():
            warnings.simplefilter("always", category)
            warnings.warn(text, category, stacklevel=stacklevel)


def find_warnings(release: Publication, people: int | None) -> list[str]:
    """Say what the owner of the data should know about a release.

    >>> from shortlist import prepare
    >>> release = prepare({"apple": 310, "pear": 190, "plum": 12}, k=2, epsilon="0.01", mechanism="joint").release()
    >>> find_warnings(release, people=400)
    ['the bound on the error is 957 votes, and there are 400 people: the list may be almost random']
    """
    found, delta = [], release.guarantee.delta
    if release.guarantee.epsilon > _LARGE_EPSILON:
        found.append(f"an epsilon above {_LARGE_EPSILON} promises almost nothing; 1 is common")
    if people is not None and delta * people > _LARGE_RISK:
        found.append(f"a delta of {float(delta):g} is not far below 1/{people:,}, one divided by the number of people")
    elif people is None and delta > _LARGE_DELTA:
        found.append(f"a delta of {float(delta):g} is large: it must be far below one divided by the number of people")
    if not release.by:
        return found + _judge_bound(release.lists[0], release, people)
    judged = [each for each in release.lists if _judge_bound(each, release, people)]
    if judged:
        weighed, known = "weight_unit" in release.parameters, sum(each.remark is not None for each in judged)
        most = f"{'what ' * weighed}the people of the group{' can add' * weighed}"
        of_people = f"; in {known:,} of them it is at least {most}" if known else ""
        bounds = write_range([find_least_bound(each.error_bound, each.assessment) for each in judged])
        found.append(
            f"{len(judged):,} of {count_drawn(release)} may hold random items: the bound on the error is {bounds} "
            f"{release.counted_in}{of_people}"
        )
    return found


def _judge_bound(listed: Release | GroupList, release: Publication, people: int | None) -> list[str]:
    """Compare the bound on the error with what public numbers and the noisy counts say about the votes of a place.

    A group has the people that the public list of groups says, else its noisy number of them, else at most all.
    """
    if listed.people is not None:
        people = listed.people
    elif listed.noisy_people is not None:
        people = max(0, listed.noisy_people.value)
    write, parameters = partial(write_count, unit=release.counted_in), release.parameters
    least, number = find_least_bound(listed.error_bound, listed.assessment), len(listed)
    if not least or not number:
        return []
    start, found = f"the bound on the error is {write(least)}, and", []
    if people is not None:
        cap, largest = parameters.get("votes_per_person"), parameters.get("max_weight", 1)
        most = people * parameters.get("sensitivity", largest)
        if least >= most:
            each = f", with at most {write(largest)} each for an item" if "max_weight" in parameters else ""
            found.append(f"{start} there are {people:,} people{each}: the list may be almost random")
        # The k largest counts sum to at most all votes. So the last of them is at most a k-th of all votes.
        elif cap is not None and least >= (last := people * cap * largest // number):
            found.append(
                f"{start} with at most {write(cap * largest)} of each of {people:,} people, the true item at place "
                f"{number:,} has at most {write(last)}: the last places may hold random items"
            )
    if listed.counts is not None:
        largest = max(listed.counts.high or listed.counts.values)
        below = sum(each < least for each in listed.counts.values)
        if least > largest:
            found.append(f"{start} no count is above {largest:,}")
        elif below:
            found.append(f"{start} {below:,} of {number:,} noisy counts are below it: these may be random items")
    elif not found and least > _LARGE_BOUND * parameters.get("max_weight", 1):
        found.append(f"the bound on the error is {write(least)}: the list says little if the counts are below that")
    return found
