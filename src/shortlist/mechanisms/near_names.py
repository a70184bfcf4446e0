"""The parameter that a user meant by a name that no parameter has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from shortlist.errors import ParameterError

_EVERYWHERE = ("k", "epsilon", "neighbours", "mechanism", "bits")
_OTHER_NAMES = {
    "bits": ("generator", "random", "random_state", "randomness", "rng", "seed"),
    "counts_epsilon": ("counts", "noisy_counts", "with_counts"),
    "delta": ("tolerance",),
    "domain": ("candidates", "catalog", "catalogue", "choices", "universe"),
    "epsilon": ("budget", "e", "eps", "privacy", "privacy_budget"),
    "item": ("items", "target"),
    "k": ("count", "limit", "n", "num", "number", "size", "top", "top_k", "topk"),
    "mechanism": ("algorithm", "law", "method"),
    "neighbours": ("adjacency", "neighbor", "neighboring", "neighbors", "neighbour", "neighbouring", "relation"),
    "person": ("persons", "user", "user_id", "users", "voter"),
    "sensitivity": ("max_votes",),
}
_MEANT = {other: name for name, others in _OTHER_NAMES.items() for other in others}


def find_near_name(name: str, known: Iterable[str]) -> str | None:
    """Find the parameter that a user may have meant: by a common other name, or by its spelling.

    >>> [find_near_name(name, ["beta"]) for name in ("neighbors", "rng", "epsilom", "x")]
    ['neighbours', 'bits', 'epsilon', None]
    """
    if name in _MEANT:
        return _MEANT[name]
    candidates = [each for each in (*known, *_EVERYWHERE) if each != name]
    close = difflib.get_close_matches(name.lower(), candidates, n=1, cutoff=0.7)
    return close[0] if close else None


def describe_unknown(name: str, kind: str, known: Iterable[str], *, elsewhere: bool = False) -> ParameterError:
    """Make the error for a parameter that a mechanism does not take; one that others take is known `elsewhere`.

    >>> print(describe_unknown("eps", "joint", ["k", "epsilon"]))
    joint takes k, epsilon; it has no parameter 'eps'.
    Hint: did you mean epsilon?
    """
    near = find_near_name(name, known)
    hint: str | None
    if name == "delta":
        hint = "{kind} needs no {delta}: its guarantee is pure"
    elif name == "ordered":
        hint = "{mechanism='auto'} and {mechanism='subset'} can leave out the order"
    else:
        hint = f"did you mean {{{near}}}?" if near else None
    return ParameterError(
        # A range of sizes can be given as k.
        "{kind} takes " + ", ".join(f"{{{each}}}" for each in known if each != "at_least"),
        f"it does not take {{{name}}}" if elsewhere else "it has no parameter {unknown!r}",
        hint=hint,
        kind=kind,
        unknown=name,
    )
