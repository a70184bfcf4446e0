"""Votes, wherever they are held, and their tally."""

from shortlist.votes.sources.queries import Query
from shortlist.votes.tallies import Tally, tally

__all__ = ["Query", "Tally", "tally"]
