"""What is said about a mechanism is true, and is said everywhere in the same words."""

import re
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest

from shortlist import mechanisms
from shortlist.mechanisms import MECHANISMS
from shortlist.privacy.zcdp import find_rho, find_rho_of_pure

ROOT = Path(__file__).parents[2]
COLUMNS = {
    "name": lambda kind: f"`{kind.name}`",
    "what it does": lambda kind: kind.summary,
    "take it when": lambda kind: kind.when,
    "guarantee": lambda kind: kind.guarantee_in_words,
    "ρ (zCDP)": lambda kind: kind.rho_in_words,
}
every_mechanism = pytest.mark.parametrize("kind", MECHANISMS.values(), ids=list(MECHANISMS))
K, EPSILON = 10, Fraction(1, 3)
RHO = {
    "ε²/8": lambda mechanism: EPSILON**2 / 8,
    "ε·tanh(ε/2)": lambda mechanism: find_rho_of_pure(EPSILON),
    "ε·tanh(ε/2k)": lambda mechanism: K * find_rho_of_pure(EPSILON / K),
    "ε·tanh(ε/2m), or ρ": lambda mechanism: find_rho(EPSILON, mechanism.delta),
    "kε′²/8": lambda mechanism: K * mechanism.round_epsilon**2 / 8,
    "kε′²/8, with a δ": lambda mechanism: K * mechanism.round_epsilon**2 / 8,
    "ρ, or ε·tanh(ε/2m), with a δ": lambda mechanism: find_rho(EPSILON, mechanism.delta),
    "ε₁²/8 + ε₂·tanh(ε₂/2), with a δ": lambda mechanism: (EPSILON / 2) ** 2 / 8 + find_rho_of_pure(EPSILON / 2),
    "ρ of the choice + the largest ρ of a candidate": lambda mechanism: (
        find_rho_of_pure(mechanism.choice_epsilon) + max(each.guarantee.rho for each in mechanism.candidates.values())
    ),
}


@every_mechanism
def test_the_rho_in_words_is_the_one_of_the_guarantee(kind):
    """The formula in the tables gives the rho that a release states."""
    delta = {"delta": "1e-6"} if "δ" in kind.guarantee_in_words else {}
    mechanism = kind.build_example(k=K, epsilon=EPSILON, **delta)
    assert mechanism.guarantee.rho == RHO[kind.rho_in_words](mechanism)
    assert ("with a δ" in kind.rho_in_words) == (mechanism.guarantee.rho_delta > 0)


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


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_listed_once(name):
    """The list has its class under its own name, and the class is an attribute of the package, also for checkers."""
    kind = MECHANISMS[name]
    assert kind.name == name
    assert getattr(mechanisms, kind.__name__) is kind
    assert f"import {kind.__name__} as {kind.__name__}" in Path(mechanisms.__file__).read_text(encoding="utf-8")


def test_an_example_of_every_mechanism_can_be_built():
    """With the parameters that it needs, and with others."""
    for kind in MECHANISMS.values():
        assert kind.build_example(k=3).k == 3


def test_the_page_has_the_table_of_the_classes():
    """The table of docs/mechanisms.md is what the classes say."""
    text = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    table = text.partition("<!-- mechanisms -->\n")[2].partition("\n<!-- end of mechanisms -->")[0]
    assert table == write_table(), "write it anew: python tests/mechanisms/test_descriptions.py"


def write_table():
    """Write the mechanisms as the Markdown table of docs/mechanisms.md."""
    rows = [[*COLUMNS], ["---"] * len(COLUMNS)]
    rows += [[write(kind) for write in COLUMNS.values()] for kind in MECHANISMS.values()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def test_the_readme_names_mechanisms_that_there_are():
    """Its table of a few mechanisms is written by hand."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("| name | take it when |\n")[2].partition("\n\n")[0]
    named = [name for line in table.splitlines()[1:] for name in re.findall(r"`([a-z][a-z-]+)`", line.split("|")[1])]
    assert len(named) >= 5
    assert set(named) <= set(MECHANISMS)


if __name__ == "__main__":
    print(write_table())
