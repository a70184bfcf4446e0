"""The programs that the experiment compares: the law that each draws from, and who wrote it."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import Any

from shortlist.mechanisms import MECHANISMS

DELTA = 1e-6
PAPER_LAWS = ("fastjoint", "joint", "pnf-peel", "cdp-peel")
"""The laws that the paper compares, in the order of its legend."""

_SPELLING = {
    "fastjoint": "FastJoint",
    "joint": "Joint",
    "pnf-peel": "PNF-Peel",
    "cdp-peel": "CDP-Peel",
    "laplace": "Laplace",
    "gamma": "Gamma",
}


class Maker(StrEnum):
    """Who wrote a program."""

    RELEASED = "released"
    """The program that the paper timed, from its authors or from Google."""
    PUBLISHED = "published"
    """The published algorithm, written anew here with NumPy in floating point."""
    OURS = "ours"
    """An exact mechanism of this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The parameters of one selection; beta is None for a mechanism without beta."""

    k: int
    epsilon: float
    beta: float | None = None

    def __str__(self) -> str:
        beta = "" if self.beta is None else f", β = {write_beta(self.beta)}"
        return f"k = {self.k}, ε = {self.epsilon:g}{beta}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A program in the experiment."""

    law: str
    maker: Maker

    @property
    def name(self) -> str:
        """The name in tables and commands.

        >>> Contender(law="joint", maker=Maker.RELEASED).name, Contender(law="joint", maker=Maker.OURS).name
        ('released-joint', 'joint')
        """
        return self.law if self.maker is Maker.OURS else f"{self.maker}-{self.law}"

    @property
    def label(self) -> str:
        """The name in figures and pages.

        >>> Contender(law="joint", maker=Maker.RELEASED).label, Contender(law="joint", maker=Maker.OURS).label
        ('Joint (released)', 'joint (ours)')
        """
        return f"{self.law} (ours)" if self.maker is Maker.OURS else f"{self.spelling} ({self.maker})"

    @property
    def spelling(self) -> str:
        """The law as the paper spells it."""
        return _SPELLING.get(self.law, self.law)

    @property
    def has_beta(self) -> bool:
        """Whether the failure probability of the pruning is a parameter."""
        return self.law == "fastjoint"

    @property
    def is_unordered(self) -> bool:
        """Whether its lists have no order. They are compared as if sorted by their counts."""
        return self.law == "subset"

    @property
    def has_time(self) -> bool:
        """Whether its time is measured. Laplace and Gamma are compared by their errors only."""
        return self.law not in ("laplace", "gamma")

    @property
    def has_errors(self) -> bool:
        """Whether its errors are drawn in batches.

        The laws of the released Joint, PNF-Peel and CDP-Peel are those of the published ones, which are much faster to
        draw. The released FastJoint has errors of its own, because it repeats items.
        """
        return self.maker is not Maker.RELEASED or self.law == "fastjoint"

    def parameters(self, setting: Setting) -> dict[str, Any]:
        """The parameters of the program besides k and epsilon."""
        if self.has_beta:
            return {"beta": setting.beta}
        wants_delta = self.law == "cdp-peel" or (self.maker is Maker.OURS and _needs_delta(self))
        return {"delta": DELTA} if wants_delta else {}

    @property
    def mechanism(self) -> str:
        """The name of our mechanism.

        >>> Contender(law="auto-delta", maker=Maker.OURS).mechanism
        'auto'
        """
        return self.law.removesuffix(_WITH_DELTA)

    def own(self, setting: Setting) -> Setting:
        """Return a setting without beta, if the program has no beta.

        >>> Contender(law="joint", maker=Maker.OURS).own(Setting(k=3, epsilon=1.0, beta=0.5))
        Setting(k=3, epsilon=1.0, beta=None)
        """
        return setting if self.has_beta else Setting(k=setting.k, epsilon=setting.epsilon)


def write_beta(beta: float) -> str:
    """Write a power of 2 as one.

    >>> write_beta(2.0**-10), write_beta(0.3)
    ('2⁻¹⁰', '0.3')
    """
    mantissa, exponent = math.frexp(beta)
    exponent -= 1
    digits = str(abs(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"2{'⁻' if exponent < 0 else ''}{digits}" if mantissa == 0.5 else f"{beta:g}"


def _needs_delta(contender: Contender) -> bool:
    needed = (each.name == "delta" and each.default is MISSING for each in fields(MECHANISMS[contender.mechanism]))
    return contender.law.endswith(_WITH_DELTA) or any(needed)


_WITH_DELTA = "-delta"
"""The end of the name of a mechanism that may use delta and is given one."""

TODAY = ("auto", "auto-delta", "margin-joint", "subset")
"""What this package offers beyond the paper's laws. They get a section of their own."""

_OURS = ("joint", "fastjoint", "pnf-joint", "pnf-peel", "cdp-peel", *TODAY)

CONTENDERS = {
    each.name: each
    for each in (
        *(Contender(law=law, maker=Maker.RELEASED) for law in PAPER_LAWS),
        *(Contender(law=law, maker=Maker.PUBLISHED) for law in (*PAPER_LAWS, "laplace", "gamma")),
        *(Contender(law=law, maker=Maker.OURS) for law in _OURS),
    )
}
