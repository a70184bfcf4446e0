"""A release as an entry of the public registry of deployments of differential privacy, in YAML.

The registry is https://github.com/opendp/deployments-registry-data. What a release does not know is left empty, and a
comment says what belongs there. Texts are strings of JSON, which YAML reads, and numbers are those of YAML 1.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shortlist import record
from shortlist.caption import describe_votes, introduce
from shortlist.errors import ParameterError
from shortlist.mechanisms import MECHANISMS
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import write_digits
from shortlist.safe_text import escape

if TYPE_CHECKING:
    from shortlist.release import Publication


@dataclass(frozen=True, slots=True)
class _Gap:
    """What the release does not know. If one of some `choices` must stand there, the line is a comment."""

    what: str
    choices: tuple[str, ...] = ()
    several: bool = False


def write(release: Publication) -> str:
    """Write the entry."""
    if not release.secure:
        raise ParameterError(
            "a release for the registry must use secure randomness", "this one can be repeated, so it promises nothing"
        )
    # The registry finds its slug in the first line, and computes it from name, curators and year.
    lines = ["url_slug: draft", "# fill in: run scripts/update_slug.py of the registry", "status: Draft", "tier: 3"]
    entry = {"deployment": _describe(release)}
    return "\n".join([*lines, *_write_lines(entry, ""), ""])


def _describe(release: Publication) -> dict[str, Any]:
    """Describe a release by the fields of the registry, in their order."""
    guarantee, description = release.guarantee, introduce(release)
    return {
        "basic": {
            "name": _Gap("the name of the list"),
            "data_curators": _Gap("who publishes the list", several=True),
            "intended_use": _Gap("what the list is for"),
            "data_product_type": "Summary statistics",
            "data_product_region": _Gap("the region that the data are about"),
            "description": f"{description} Data of: {release.population}." if release.population else description,
            "publication_date": f"{release.made:%Y-%m-%d}",
            "data_product_sector": _Gap(
                "the sector", ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
            ),
        },
        "dp_variant": {
            "variant_name": "Approximate DP" if guarantee.delta else "Pure DP",
            "data_domain": _describe_domain(release),
            "unprotected_quantities": "None that depends on the votes. Parameters, the names of columns and public "
            "lists of items and groups are published as they are. The publisher vouches that they are public.",
        },
        "privacy_loss": {
            "privacy_unit": f"One {guarantee.unit}",
            "privacy_unit_details": f"{_describe_neighbours(release)} {' '.join(describe_votes(release))}",
            "privacy_parameters": {
                "epsilon": guarantee.epsilon,
                **({"delta": guarantee.delta} if guarantee.delta else {}),
            },
            "privacy_parameters_details": f"{guarantee}. {guarantee.in_words}",
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": _Gap("who sees the data, who sees the list, and whom they must trust"),
            "release_type": _Gap("how often it is published", ("One release", "Many releases")),
            "release_type_details": _Gap("how often it is published, and when the budget is renewed")
            if release.period is None
            else f"This entry describes the release for {release.period}.",
            "data_source_type": _Gap("whether data come in over time", ("Static", "Dynamic")),
            "access_type": "Non-interactive",
        },
        "accounting": {
            "post_processing": _Gap("what was done to the list after it was released"),
            "composition": _describe_composition(release),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _Gap("how the data were prepared, and how epsilon was chosen"),
            "mechanisms": _describe_mechanism(release),
            "justification": _Gap("why this unit, this epsilon and this mechanism"),
        },
        "administrative": {
            "sources": _Gap("links to the list and to texts about it"),
            "notes": f"Release {release.id}. SHA-256 of its record: {record.compute_hash(release)}.",
            "registry_authors": _Gap("who wrote this entry", several=True),
        },
    }


def _describe_domain(release: Publication) -> str:
    groups = f", in groups by {' and '.join(map(escape, release.by))}" if release.by else ""
    known = any(each.domain_size is not None for each in release.lists)
    items = "a public list of items" if known else "any items, without a public list of them"
    return f"Tables of votes of people for {items}{groups}."


def _describe_neighbours(release: Publication) -> str:
    unit = release.guarantee.unit
    if release.guarantee.neighbours is Neighbours.REPLACE:
        return f"Two data sets are adjacent if they differ in the votes of one {unit}, which may be any others."
    return f"Two data sets are adjacent if one of them has the votes of one {unit} more."


def _describe_composition(release: Publication) -> str | _Gap:
    if release.charge is None:
        return _Gap("other releases about the same people, and what all of them promise together")
    return (
        f"Charge {release.charge} of the ledger {release.ledger}, which adds up what is charged to it, and "
        "refuses releases that its budget does not cover."
    )


def _describe_mechanism(release: Publication) -> str:
    kind = MECHANISMS.get(release.mechanism)
    what = "not a mechanism of shortlist: its author states the guarantee" if kind is None else kind.summary
    given = record.encode_parameters(release.parameters)
    parameters = ", ".join(f"{name} {value}" for name, value in given.items() if not isinstance(value, dict | list))
    exact = "Probabilities are exact: floating-point rounding never changes what is drawn. " if kind is not None else ""
    return (
        f"{release.mechanism}: {what}. Parameters: {parameters}. Made with the library shortlist {release.version}. "
        f"{exact}The randomness is that of the operating system. The running time is not protected."
    )


def _write_lines(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _write_lines(value, f"{indent}  ")
        elif not isinstance(value, _Gap):
            yield f"{indent}{name}: {_write_value(value)}"
        elif value.choices:
            yield f"{indent}# {name}: {value.choices[0]}  # fill in: {value.what} ({', '.join(value.choices)})"
        elif value.several:
            yield f"{indent}{name}:"
            yield f'{indent}  - ""  # fill in: {value.what}'
        else:
            yield f'{indent}{name}: ""  # fill in: {value.what}'


def _write_value(value: str | Fraction) -> str:
    """Write a text, or a number rounded up.

    >>> [_write_value(Fraction(each)) for each in ("1", "1/3", "1e-6")], _write_value("a: b")
    (['1.0', '0.333333334', '1.0e-6'], '"a: b"')
    """
    if isinstance(value, str):
        return json.dumps(escape(value), ensure_ascii=False)
    digits, _, exponent = write_digits(value, 9).partition("e")
    # YAML 1.1 has numbers with a point only; anything else is a text.
    return (digits if "." in digits else f"{digits}.0") + (f"e{exponent}" if exponent else "")
