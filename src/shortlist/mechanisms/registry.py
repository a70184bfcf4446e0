"""The classes of the mechanisms by name. A class is imported when it is asked for: most programs need one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

from shortlist.mechanisms.mechanism import Mechanism

HOMES = {
    "auto": "auto.auto.Auto",
    "joint": "joint.joint.Joint",
    "margin-joint": "joint.margin_joint.MarginJoint",
    "subset": "subset.subset.Subset",
    "fastjoint": "joint.fastjoint.FastJoint",
    "pnf-joint": "joint.pnf_joint.PNFJoint",
    "pnf-peel": "peel.pnf_peel.PNFPeel",
    "cdp-peel": "peel.cdp_peel.CDPPeel",
    "noisy-counts": "counts.noisy_counts.NoisyCounts",
    "limited-domain": "unknown_domain.limited_domain.LimitedDomain",
    "threshold": "unknown_domain.threshold.Threshold",
    "stable": "unknown_domain.stable.Stable",
}
"""Where each mechanism is: its module and its class."""


class Registry(MutableMapping[str, type[Mechanism]]):
    """A dictionary of classes, each imported on first use."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = dict(homes)
        self._known: dict[str, type[Mechanism]] = {}

    def __getitem__(self, name: str) -> type[Mechanism]:
        if name not in self._known:
            self._known[name] = find_class(self._homes[name])
        return self._known[name]

    def __setitem__(self, name: str, kind: type[Mechanism]) -> None:
        self._homes.setdefault(name, "")
        self._known[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._homes[name]
        self._known.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


def find_class(home: str) -> type[Mechanism]:
    """Import the class of a mechanism."""
    module, _, name = home.rpartition(".")
    kind: type[Mechanism] = getattr(import_module(f"shortlist.mechanisms.{module}"), name)
    return kind
