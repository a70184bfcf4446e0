"""The mechanisms, by name."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import Any

from shortlist.errors import ParameterError
from shortlist.mechanisms.fastjoint import FastJoint
from shortlist.mechanisms.joint import Joint
from shortlist.mechanisms.mechanism import Mechanism, Prepared
from shortlist.mechanisms.pnf_joint import PNFJoint

__all__ = ["MECHANISMS", "FastJoint", "Joint", "Mechanism", "PNFJoint", "Prepared", "mechanism_named"]

MECHANISMS: dict[str, type[Mechanism]] = {each.name: each for each in (Joint, FastJoint, PNFJoint)}


def mechanism_named(mechanism: str | Mechanism, **parameters: Any) -> Mechanism:
    """Build a mechanism by its name, or take one that is built already.

    >>> mechanism_named("fastjoint", k=3, epsilon=1, beta=2**-10).beta
    Fraction(1, 1024)

    Parameters that are None count as not given.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    if isinstance(mechanism, Mechanism):
        _refuse_contradictions(mechanism, given)
        return mechanism
    kind = MECHANISMS.get(mechanism) if isinstance(mechanism, str) else None
    if kind is None:
        nearest = difflib.get_close_matches(str(mechanism), MECHANISMS, n=1)
        raise ParameterError(
            f"mechanism must be one of {', '.join(MECHANISMS)}, or a mechanism object; not {mechanism!r}.",
            hint=f"did you mean {nearest[0]!r}?" if nearest else None,
        )
    known = [field.name for field in fields(kind)]
    for name in given:
        if name not in known:
            raise ParameterError(f"{kind.name} takes {', '.join(known)}; it has no parameter {name!r}.")
    for name in ("k", "epsilon"):
        if name not in given:
            raise ParameterError(f"{kind.name} needs {name}.", hint=f"pass {name}=1, say")
    return kind(**given)


def _refuse_contradictions(mechanism: Mechanism, given: dict[str, Any]) -> None:
    """Parameters beside a mechanism object must be the ones that it has."""
    if given and type(mechanism)(**{**mechanism.parameters, **given}) != mechanism:
        raise ParameterError(
            "the mechanism object and the parameters given beside it disagree.", hint="pass one of them"
        )
