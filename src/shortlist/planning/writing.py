"""What a plan says: the command that makes the release, ready to paste, and that a plan is not private."""

from __future__ import annotations

import shlex
from typing import Any

from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.mechanisms.accuracy import write_votes
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import read_rational, write_exact, write_rounded_up

NOT_PRIVATE = (
    "A plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or "
    "invented, and do not publish a plan that was made on private counts."
)
INVENTED = "These counts are invented, so this plan gives nothing away. Never publish a plan made on private counts."
VOTES, CATALOGUE, PERSON, ITEM = "votes.csv", "catalogue.csv", "person", "item"
"""What files and columns are called where nobody has said it."""


def write_command(mechanism: Mechanism, *, votes_per_person: int | None = None, item: str | None = None) -> str:
    """Write the command of the shell that releases a list by a mechanism, from a table of votes and a catalogue.

    A limit on votes per person is a limit on the votes that are counted, whatever the mechanism.

    >>> from shortlist.mechanisms import CDPPeel
    >>> print(write_command(CDPPeel(k=50, epsilon=1, delta="1e-6"), item="track"))
    shortlist select votes.csv --person person --item track --domain catalogue.csv -k 50 --epsilon 1
        --mechanism cdp-peel --delta 1e-6 --output top50.json
    """
    parameters = mechanism.parameters
    column = ITEM if item is None else item
    words = ["shortlist", "select", VOTES, "--person", PERSON, "--item", column]
    words += ["--domain", CATALOGUE] if mechanism.needs_domain else []
    words += ["-k", str(mechanism.k), "--epsilon", write_exact(mechanism.epsilon)]
    if mechanism.name != DEFAULT_MECHANISM:
        words += ["--mechanism", mechanism.name]
    elif mechanism.unordered:
        words.append("--unordered")
    if "delta" in parameters:
        words += ["--delta", _write_delta(parameters["delta"])]
    if votes_per_person is not None:
        words += ["--votes-per-person", str(votes_per_person)]
    if mechanism.neighbours is not Neighbours.ADD_REMOVE:
        words += ["--neighbours", str(mechanism.neighbours)]
    return shlex.join([*words, "--output", f"top{mechanism.k}.json"])


def explain_limit(votes_per_person: int | None) -> str | None:
    """Say what a limit in a command means for the votes; None without a limit.

    >>> explain_limit(3)
    'This counts at most 3 votes of each person. If many people cast more, their other votes are not counted.'
    """
    if votes_per_person is None:
        return None
    counted = f"This counts at most {write_votes(votes_per_person)} of each person."
    return f"{counted} If many people cast more, their other votes are not counted."


def write_call(mechanism: Mechanism, *, votes_per_person: int | None = None) -> str:
    """Write the call of Python that chooses a list by a mechanism, from counts.

    >>> from shortlist.mechanisms import PNFPeel
    >>> write_call(PNFPeel(k=50, epsilon="0.5"))
    "shortlist.top_k(new_counts, k=50, epsilon='0.5', mechanism='pnf-peel')"
    """
    parameters = mechanism.parameters
    written: dict[str, object] = {"k": mechanism.k, "epsilon": write_exact(mechanism.epsilon)}
    written["mechanism"] = mechanism.name
    if "delta" in parameters:
        written["delta"] = _write_delta(parameters["delta"])
    if votes_per_person is not None:
        written["votes_per_person"] = votes_per_person
    if parameters.get("ordered") is False:
        written["ordered"] = False
    if mechanism.neighbours is not Neighbours.ADD_REMOVE:
        written["neighbours"] = str(mechanism.neighbours)
    return f"shortlist.top_k(new_counts, {', '.join(f'{name}={value!r}' for name, value in written.items())})"


def _write_delta(delta: Any) -> str:
    """Write a delta without loss, as 1e-6 if that is the same number."""
    short = write_rounded_up(delta)
    return short if read_rational(short, name="delta") == delta else write_exact(delta)
