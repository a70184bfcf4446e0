"""The entry of a release in the public registry of deployments."""

import json
import re
from fractions import Fraction

import pytest

from shortlist import Ledger, prepare, select
from shortlist.errors import ParameterError
from shortlist.record import compute_hash
from shortlist.testing import SeededBits

VOTES = {"user": [*range(300), *range(200)], "track": ["a"] * 300 + ["b"] * 200, "city": ["Rome", "Oslo"] * 250}
ASKED = {"person": "user", "item": "track", "epsilon": "1/3"}
# The parts of an entry that the registry defines, with the fields that it demands.
PARTS = {
    "basic": {"name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"},
    "dp_variant": {"variant_name"},
    "privacy_loss": {"privacy_unit", "privacy_parameters"},
    "deployment_model": {"model_name", "access_type"},
    "accounting": {"composition"},
    "implementation": {"mechanisms"},
    "administrative": {"registry_authors"},
}


def read(text):
    """Read the YAML of an entry: keys under keys, and strings or numbers of JSON."""
    root = {}
    places = [(-1, root)]
    for line in text.splitlines():
        if line.strip().startswith("#"):
            continue
        indent, item, name, value = re.fullmatch(r'( *)(- )?(?:(\w+):)? ?(".*"|[^"#]*?)(?:  # .*)?', line).groups()
        while len(indent) <= places[-1][0]:
            places.pop()
        if item:
            places[-1][1][""] = json.loads(value)
        elif value:
            # Numbers have a point: YAML 1.1 takes 1e-6 for a text.
            known = value[0] == '"' or re.fullmatch(r"\d+\.\d+(e-\d+)?", value)
            places[-1][1][name] = json.loads(value) if known else value
        else:
            places[-1][1][name] = {}
            places.append((len(indent), places[-1][1][name]))
    return root


def test_an_entry_has_what_the_release_knows(tmp_path):
    """Every part of the registry; numbers are rounded up; texts are quoted; the rest is empty, with a comment."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10, population='EU: "all" # ones')
    release = select(VOTES, **ASKED, domain=["a", "b", "c"], k=2, ledger=ledger, period="2026-W46")
    text = release.to_registry()
    assert text.startswith("url_slug: draft\n")  # the scripts of the registry look for it there
    entry = read(text)
    assert (entry["status"], entry["tier"]) == ("Draft", "3")
    for part, names in PARTS.items():
        assert names <= entry["deployment"][part].keys(), part
    assert entry["deployment"].keys() == PARTS.keys()
    basic, loss = entry["deployment"]["basic"], entry["deployment"]["privacy_loss"]
    assert 'Data of: EU: "all" # ones.' in basic["description"]
    assert basic["publication_date"] == f"{release.made:%Y-%m-%d}"
    assert basic["data_curators"] == {"": ""}
    assert loss["privacy_parameters"] == {"epsilon": 0.333333334}
    assert release.guarantee.in_words in loss["privacy_parameters_details"]
    assert compute_hash(release) in entry["deployment"]["administrative"]["notes"]
    assert f"Charge 1 of the ledger {ledger.id}" in entry["deployment"]["accounting"]["composition"]
    assert text.count("# fill in: ") == 14
    # No item is named.
    assert all(f'"{item}"' not in text for item in release)


def test_a_list_without_a_catalogue_has_a_delta():
    """It is a number, and the variant is approximate. Without a ledger, other releases are a gap."""
    entry = read(select(VOTES, **ASKED, k=2, delta="1e-6", neighbours="replace").to_registry())["deployment"]
    assert entry["privacy_loss"]["privacy_parameters"]["delta"] == 1e-6
    assert entry["dp_variant"]["variant_name"] == "Approximate DP"
    assert "without a public list" in entry["dp_variant"]["data_domain"]
    assert entry["accounting"]["composition"] == ""
    assert "which may be any others" in entry["privacy_loss"]["privacy_unit_details"]


def test_a_family_is_one_entry():
    """It names the columns of the groups, whatever they are called."""
    votes = {**VOTES, 'the "city"\\': VOTES["city"]}
    asked = {"by": 'the "city"\\', "groups": ["Rome", "Oslo"], "groups_per_person": 1, "domain": ["a", "b"]}
    family = select(votes, **ASKED, **asked, k=1, mechanism="joint")
    entry = read(family.to_registry())["deployment"]
    assert 'in groups by the "city"\\.' in entry["dp_variant"]["data_domain"]
    assert "in at most 1 group" in entry["privacy_loss"]["privacy_unit_details"]


def test_small_numbers_are_rounded_up():
    """With a point in them, and never to 0."""
    made = prepare({"a": 9, "b": 1}, k=1, epsilon=Fraction(1, 3 * 10**7), mechanism="joint").release()
    assert "epsilon: 3.33333334e-8\n" in made.to_registry()


def test_a_release_for_tests_is_refused():
    """It promises nothing."""
    made = prepare({"a": 9, "b": 1}, k=1, epsilon=1).release(bits=SeededBits(7))
    with pytest.raises(ParameterError, match="must use secure randomness"):
        made.to_registry()
