"""Votes counted at once: what a release does in two steps, with the charge in between."""

from shortlist.votes.tallies import plan_tally


def tally(votes, **asked):
    """Count the votes of each item of a domain."""
    return plan_tally(votes, **asked).count()


def observe(votes, **asked):
    """Count the votes of each item that the votes name, without a domain."""
    return plan_tally(votes, observed=True, **asked).count()
