"""Votes counted at once: what a release does in two steps, with the charge in between."""

import hashlib
from functools import reduce

from shortlist import Query
from shortlist.votes.duckdb import Workspace
from shortlist.votes.tallies import plan_tally

WORKSPACE = Workspace()
"""To open one takes half of the time of a small count. Queries on files, and counts with a limit, have their own."""


def tally(votes, **asked):
    """Count the votes of each item of a domain."""
    return plan_count(votes, **asked).count()


def observe(votes, **asked):
    """Count the votes of each item that the votes name, without a domain."""
    return plan_count(votes, observed=True, **asked).count()


def plan_count(votes, **asked):
    """Describe and check votes. Pass `workspace=None` where a workspace of its own matters."""
    own = "memory_limit" in asked or any(isinstance(each, Query) for each in (votes, *asked.values()))
    return plan_tally(votes, **{"workspace": None if own else WORKSPACE, **asked})


def draw(text, place=0):
    """Seven hexadecimal digits of the hash of a text, as a number."""
    return int(hashlib.md5(text.encode()).hexdigest()[place : place + 7], 16)


def order(person, *numbers):
    """The order in which limits keep the groups or cells of a person, given their numbers."""
    prime = 2**31 - 1
    number = reduce(lambda mixed, each: (mixed * 1_000_003 + each) % prime, numbers)
    return ((number * draw(str(person)) + draw(str(person), 7)) % prime) ** 2 % prime
