"""Votes, wherever they are held, and their tally."""

from shortlist.votes.opening import tally
from shortlist.votes.tally import Tally

__all__ = ["Tally", "tally"]
