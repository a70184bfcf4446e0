"""What is said about a mechanism is true, and is said everywhere in the same words."""

from dataclasses import MISSING, fields
from fractions import Fraction
from pathlib import Path

import pytest

from shortlist import mechanisms
from shortlist.mechanisms import MECHANISMS, Mechanism, write_table
from shortlist.privacy.zcdp import find_rho, find_rho_of_pure

every_mechanism = pytest.mark.parametrize("kind", MECHANISMS.values(), ids=list(MECHANISMS))
K, EPSILON = 10, Fraction(1, 3)
RHO = {
    "ε²/8": lambda mechanism: EPSILON**2 / 8,
    "ε·tanh(ε/2)": lambda mechanism: find_rho_of_pure(EPSILON),
    "ε·tanh(ε/2k)": lambda mechanism: K * find_rho_of_pure(EPSILON / K),
    "ε·tanh(ε/2m), or ρ": lambda mechanism: find_rho(EPSILON, mechanism.delta),
    "–": lambda mechanism: None,
    "kε′²/8": lambda mechanism: K * mechanism.round_epsilon**2 / 8,
    "ρ of the choice + the largest ρ of a candidate": lambda mechanism: (
        find_rho_of_pure(mechanism.choice_epsilon) + max(each.guarantee.rho for each in mechanism.candidates.values())
    ),
}


def build(kind):
    """The mechanism with its needed parameters only."""
    needed = {"delta": "1e-6"} if "δ" in kind.guarantee_in_words else {}
    if any(field.name == "votes_per_person" and field.default is MISSING for field in fields(kind)):
        needed["votes_per_person"] = 3
    return kind(k=K, epsilon=EPSILON, **needed)


@every_mechanism
def test_the_rho_in_words_is_the_one_of_the_guarantee(kind):
    """The formula in the tables gives the rho that a release states."""
    mechanism = build(kind)
    assert mechanism.guarantee.rho == RHO[kind.rho_in_words](mechanism)


@every_mechanism
def test_the_guarantee_in_words_says_whether_there_is_a_delta(kind):
    """A mechanism that can have a delta says so, and no other."""
    assert ("δ" in kind.guarantee_in_words) == any(field.name == "delta" for field in fields(kind))


@every_mechanism
def test_a_description_is_complete(kind):
    """Everything is said about every mechanism, in its own words."""
    assert kind.summary
    assert kind.when
    assert not kind.summary.endswith(".")
    assert [other.summary for other in MECHANISMS.values()].count(kind.summary) == 1


@every_mechanism
def test_every_mechanism_is_exported(kind):
    """`shortlist.mechanisms.<Class>` is the class in the registry."""
    assert getattr(mechanisms, kind.__name__) is kind
    assert kind.__name__ in mechanisms.__all__


def test_the_registry_has_every_class_under_its_own_name():
    """The name of a mechanism is that of its class, and no mechanism is missing from the registry."""
    assert {name: kind.name for name, kind in MECHANISMS.items()} == {name: name for name in MECHANISMS}
    exported = [getattr(mechanisms, name) for name in mechanisms.__all__]
    kinds = {each for each in exported if isinstance(each, type) and issubclass(each, Mechanism)} - {Mechanism}
    assert kinds == set(MECHANISMS.values())


@pytest.mark.parametrize(
    ("page", "columns"),
    [("README.md", ("name", "take it when", "guarantee")), ("docs/mechanisms.md", ())],
)
def test_the_pages_have_the_table_of_the_classes(page, columns):
    """The README has a part of the table that the classes write, and docs/mechanisms.md has all of it."""
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    table = text.partition("<!-- mechanisms -->\n")[2].partition("\n<!-- end of mechanisms -->")[0]
    named = ", ".join(f'"{column}"' for column in columns)
    command = f"from shortlist.mechanisms import write_table; print(write_table({named}))"
    assert table == write_table(*columns), f"run: python -c '{command}'"
