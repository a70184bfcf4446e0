"""Arrivals in the order of time: later ones are listed where they belong, if they are asked for."""

import numpy as np

from shortlist.mechanisms.peel.arrivals import Arrivals

# Numbers 0 and 1 are arrivals below the pivot. Items 2 and 3 have later arrivals 4 and 5, then 6 and 7. 7 is after t.
ORDER = np.array([2, 0, 4, 3, 6, 5, 1])
LEVELS, POSITIONS = np.array([5, 6, 0, 1]), np.array([50, 60, 0, 1])


def collect(rejected):
    """Go through the arrivals, and ask for the next one of some items each time. Stop where it was not drawn."""
    arrivals, numbers = Arrivals(ORDER, LEVELS, POSITIONS, near=2, turns=3), []
    for number in arrivals:
        numbers.append(number)
        if number in rejected and not arrivals.ask_for_next(number):
            numbers.append("unknown")
            break
    return numbers


def test_first_arrivals_alone_are_in_the_order_of_time():
    """Without a question, each number comes once."""
    assert collect(()) == [2, 0, 3, 1]
    arrivals = Arrivals(ORDER, LEVELS, POSITIONS, near=2, turns=3)
    assert arrivals.listed_positions.tolist() == [0, 50, 1, 60]


def test_later_arrivals_come_in_their_places():
    """An item that is asked for comes again at its next time before t, until no more arrivals were drawn."""
    assert collect({2}) == [2, 0, 2, 3, 2, "unknown"]
    assert collect({0, 1}) == [2, 0, 3, 1]  # each arrival below the pivot has its own number


def test_arrivals_after_the_end_are_not_listed():
    """An arrival that is not before t does not come, and no other stops for it."""
    assert collect({3}) == [2, 0, 3, 3, 1]
