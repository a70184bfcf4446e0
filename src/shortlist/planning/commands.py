"""The command that makes a planned release, ready to paste."""

from __future__ import annotations

import shlex

from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import write_exact

VOTES, CATALOGUE, PERSON, ITEM = "votes.csv", "catalogue.csv", "person", "item"
"""What files and columns are called where nobody has said it."""


def write_command(mechanism: Mechanism, *, item: str | None = None) -> str:
    """Write the command of the shell that releases a list by a mechanism, from a table of votes and a catalogue.

    >>> from shortlist.mechanisms import CDPPeel
    >>> print(write_command(CDPPeel(k=50, epsilon=1, delta="1e-6"), item="track"))
    shortlist select votes.csv --person person --item track --domain catalogue.csv -k 50 --epsilon 1
        --mechanism cdp-peel --delta 0.000001 --output top50.json
    """
    parameters = mechanism.parameters
    column = ITEM if item is None else item
    words = ["shortlist", "select", VOTES, "--person", PERSON, "--item", column, "--domain", CATALOGUE]
    words += ["-k", str(mechanism.k), "--epsilon", write_exact(mechanism.epsilon)]
    if mechanism.name != DEFAULT_MECHANISM:
        words += ["--mechanism", mechanism.name]
    elif mechanism.unordered:
        words.append("--any-order")
    if "delta" in parameters:
        words += ["--delta", write_exact(parameters["delta"])]  # type: ignore[arg-type]
    if "votes_per_person" in parameters:
        words += ["--votes-per-person", str(parameters["votes_per_person"])]
    if mechanism.neighbours is not Neighbours.ADD_REMOVE:
        words += ["--neighbours", str(mechanism.neighbours)]
    return shlex.join([*words, "--output", f"top{mechanism.k}.json"])


def write_call(mechanism: Mechanism) -> str:
    """Write the call of Python that chooses a list by a mechanism, from counts.

    >>> from shortlist.mechanisms import PNFPeel
    >>> write_call(PNFPeel(k=50, epsilon="0.5"))
    "shortlist.top_k(new_counts, k=50, epsilon='0.5', mechanism='pnf-peel')"
    """
    parameters = mechanism.parameters
    written: dict[str, object] = {"k": mechanism.k, "epsilon": write_exact(mechanism.epsilon)}
    written["mechanism"] = mechanism.name
    if "delta" in parameters:
        written["delta"] = write_exact(parameters["delta"])  # type: ignore[arg-type]
    if "votes_per_person" in parameters:
        written["votes_per_person"] = parameters["votes_per_person"]
    if parameters.get("ordered") is False:
        written["ordered"] = False
    if mechanism.neighbours is not Neighbours.ADD_REMOVE:
        written["neighbours"] = str(mechanism.neighbours)
    return f"shortlist.top_k(new_counts, {', '.join(f'{name}={value!r}' for name, value in written.items())})"
