"""`votes_per_person="auto"`: the cap is chosen privately, stated in the record, and paid for before a vote is read."""

import json
import re
from fractions import Fraction
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest

from shortlist import DataError, Ledger, ParameterError, Release, prepare, select, top_k
from shortlist.mechanisms import Auto
from shortlist.mechanisms.private_cap import CAPS
from shortlist.planning import plan
from shortlist.privacy.numbers import write_exact
from shortlist.release import Publication
from shortlist.terms import Terms
from shortlist.testing import SeededBits

DOMAIN = [f"track {number:02d}" for number in range(20)]
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "release.schema.json").read_text(encoding="utf-8"))


def make_votes(people=600):
    """Nine in ten people have 1 to 4 votes, and one in ten has 20."""
    sizes = [20 if person % 10 == 0 else 1 + person % 4 for person in range(people)]
    rows = [
        (person, DOMAIN[(n if n < 2 else person + n) % 20]) for person, size in enumerate(sizes) for n in range(size)
    ]
    lands = [["AT", "DE", "FR"][(person + place) % 3] for place, (person, _) in enumerate(rows)]
    return pa.table(
        {
            "user": [p for p, _ in rows],
            "track": [item for _, item in rows],
            "country": lands,
            "minutes": [*range(len(rows))],
        }
    )


VOTES = make_votes()
ASKED = {"person": "user", "item": "track", "domain": DOMAIN, "k": 3, "epsilon": 4, "votes_per_person": "auto"}
FAMILY = {"by": "country", "groups": ["AT", "DE", "FR"]}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"delta": "1e-6"},
        {"neighbours": "replace"},
        {"mechanism": "noisy-counts"},
        {"mechanism": "joint", "counts_epsilon": 1},
        {"counts_rho": "0.1", "counts_delta": "1e-6", "mechanism": "joint", "others": True},
        {"assess": 1, "ordered": False},
        {"weight": "minutes", "max_weight": 30},
        {**FAMILY, "weight": "minutes", "max_weight": 9, "people_epsilon": 1},
        {"domain": None, "delta": "1e-6"},
        {"domain": None, "delta": "1e-6", "mechanism": "limited-domain"},
        {"domain": None, "delta": "1e-6", "mechanism": "threshold"},
        {**FAMILY, "mechanism": "pnf-peel"},
        FAMILY,
        {**FAMILY, "people_epsilon": 1, "min_people": 5, "groups_per_person": 2},
        {**FAMILY, "domain": None, "delta": "1e-3", "k": 1, "groups_per_person": 1},
    ],
    ids=str,
)
def test_every_kind_of_release_states_the_cap(options):
    """It is one of the public caps, the epsilon of its choice is in the record, and the record can be read again."""
    release = select(VOTES, **{**ASKED, **options}, bits=SeededBits(1))
    parameters = release.parameters
    assert parameters["votes_per_person"] in CAPS
    assert parameters["cap_epsilon"] == Fraction(4, 20)
    assert parameters["epsilon"] == 4
    bought = sum(options.get(name, 0) for name in ("assess", "counts_epsilon", "people_epsilon"))
    assert release.guarantee.epsilon == 4 + bought or "counts_rho" in options
    assert Publication.from_json(release.to_json()) == release
    for text in (str(release), release.explain()):
        chosen = f"The limit of {parameters['votes_per_person']:,} was chosen with differential privacy"
        assert re.search(chosen + r", so that about \d+ % of persons stay within it", text)
    record = release.to_dict()
    if isinstance(release, Release):
        jsonschema.validate(record, SCHEMA)
    # The rho is that of all caps, even if the chosen one has a smaller rho.
    for share in (Fraction(1, 2), Fraction(99, 100), Fraction(2)):
        changed = {**record["guarantee"], "rho": write_exact(release.guarantee.rho * share)}
        with pytest.raises(DataError, match="contradict"):
            Publication.from_json(json.dumps({**record, "guarantee": changed}))


@pytest.mark.parametrize("options", [{}, {"delta": "1e-6"}, {"weight": "minutes", "max_weight": 30}, FAMILY], ids=str)
def test_a_budget_in_rho_buys_a_cap_and_a_list(tmp_path, options):
    """The record states the whole rho, and can be read again; one that states less is refused."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=20, delta="1e-4", accounting="zcdp")
    release = select(VOTES, **{**ASKED, "epsilon": None, "rho": "0.5", **options}, ledger=ledger)
    assert release.parameters["votes_per_person"] in CAPS
    assert release.parameters["rho"] == Fraction(1, 2)
    assert Fraction("0.499") < release.guarantee.rho <= Fraction(1, 2)
    assert Publication.from_json(release.to_json()) == release
    record = release.to_dict()
    for name, value in (("rho", "0.4"), ("cap_epsilon", "0.1"), ("epsilon", "1")):
        with pytest.raises(DataError, match="contradict"):
            Publication.from_json(json.dumps({**record, "parameters": {**record["parameters"], name: value}}))


def test_the_quantile_depends_on_the_noise():
    """Without a delta the noise grows faster with the cap, so the cap is smaller."""
    asked = {**ASKED, "epsilon": 100}
    caps = {
        name: select(VOTES, **{**asked, **options}).parameters["votes_per_person"]
        for name, options in {"pure": {}, "delta": {"delta": "1e-6"}}.items()
    }
    assert caps == {"pure": 4, "delta": 20}


def test_the_charge_does_not_depend_on_the_votes(tmp_path):
    """It is the same for all votes and caps, and it is made before a vote is read."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=20)
    releases = [select(votes, **ASKED, ledger=ledger) for votes in (VOTES, VOTES.slice(0, 1), VOTES.slice(0, 0))]
    assert len({release.guarantee for release in releases}) == 1
    assert [charge.parameters["votes_per_person"] for charge in ledger.charges] == ["auto"] * 3
    assert {charge.guarantee.rho for charge in ledger.charges} == {releases[0].guarantee.rho}
    for release in releases:
        ledger.verify(release)


def test_a_key_gives_the_same_release_again(tmp_path):
    """A private cap is part of the request, and another cap is another request."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=20)
    first = select(VOTES, **ASKED, ledger=ledger, once="week 1")
    assert select(VOTES, **ASKED, ledger=ledger, once="week 1") == first
    with pytest.raises(ParameterError, match=r"another .*votes_per_person"):
        select(VOTES, **{**ASKED, "votes_per_person": 4}, ledger=ledger, once="week 1")


def test_a_changed_cap_is_found():
    """A cap that cannot have been chosen, or a guarantee that promises more, contradicts the record."""
    record = select(VOTES, **ASKED).to_dict()
    for change in (
        {"parameters": {**record["parameters"], "votes_per_person": 7}},
        {"parameters": {**record["parameters"], "cap_epsilon": "4"}},
        {"parameters": {**record["parameters"], "cap_quantile": "0.83"}},
        {"parameters": {**record["parameters"], "cap_epsilon": "0.1"}},
        {"guarantee": {**record["guarantee"], "rho": "0.001"}},
    ):
        with pytest.raises(DataError, match="contradict"):
            Release.from_json(json.dumps({**record, **change}))


REQUESTS = [
    {"mechanism": "auto"},
    {"mechanism": "limited-domain"},
    {"mechanism": "limited-domain", "k_bar": 40},
    {"mechanism": "threshold"},
    {"mechanism": "threshold", "noise": "gaussian"},
]
FAMILIES = [{}, {"groups_per_person": 1}, {"groups_per_person": 2}]


@pytest.mark.parametrize("by", [{}, FAMILY], ids=["one list", "family"])
@pytest.mark.parametrize("budget", [{"epsilon": 2}, {"rho": "0.5"}], ids=str)
def test_a_record_promises_what_its_own_request_did(by, budget):
    """The limits and the mechanism that were asked for decide which cap is the weakest. So a record says them."""
    requests = [{**one, **limits} for one in REQUESTS for limits in (FAMILIES if by else [{}])]
    known = {"delta": "1e-6", "votes_per_person": "auto", **budget}
    groups = {"groups": 3} if by else {}
    promised = {
        str(each): Terms.read(k=1, persons_counted=True, without_domain=True, **known, **groups, **each).guarantee
        for each in requests
    }
    assert len(set(promised.values())) > 1
    for seed, asked in enumerate(requests):
        options = {**ASKED, "domain": None, "k": 1, "epsilon": None, **known, **by, **asked}
        release = select(VOTES, **options, bits=SeededBits(seed))
        assert release.guarantee == promised[str(asked)]
        assert Publication.from_json(release.to_json()) == release
        record = release.to_dict()
        for other in set(promised.values()) - {release.guarantee}:
            numbers = {name: write_exact(getattr(other, name)) for name in ("epsilon", "delta", "rho", "rho_delta")}
            with pytest.raises(DataError, match="contradict"):
                Publication.from_json(json.dumps({**record, "guarantee": {**record["guarantee"], **numbers}}))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: select({"track": DOMAIN, "n": range(20)}, **{**ASKED, "person": None}, count="n"), "counted already"),
        (lambda: top_k({"a": 3, "b": 1}, 1, 1, votes_per_person="auto"), "pass the votes themselves"),
        (lambda: prepare({"a": 3, "b": 1}, 1, 1, votes_per_person="auto"), "nobody's votes can be told apart"),
        (lambda: select(VOTES, **ASKED, mechanism="joint"), "joint does not: a limit would only drop votes"),
        (
            lambda: select(VOTES, **ASKED, **FAMILY, groups_per_person=1, mechanism="pnf-peel"),
            "pnf-peel does not: a limit would only drop votes",
        ),
        (
            lambda: select(VOTES, **{**ASKED, "k": None, "epsilon": None}, mechanism=Auto(k=3, epsilon=1)),
            "must go with the name of a mechanism",
        ),
        (lambda: select(VOTES, **{**ASKED, "epsilon": None}), "epsilon"),
        (lambda: select(VOTES, **{**ASKED, "rho": 1}), "epsilon and rho must not both be given"),
        (lambda: select(VOTES, **{**ASKED, "epsilon": None, "rho": 0}), "rho must be above 0"),
        (
            lambda: select(VOTES, **{**ASKED, "votes_per_person": "Auto"}),
            "must be a whole number from 1, or 'auto', not 'Auto'",
        ),
        (lambda: select(VOTES, **{**ASKED, "domain": None}), "delta or domain must be given"),
        (lambda: plan(counts=[5, 3, 1], k=1, epsilon=1, votes_per_person="auto"), "a private cap depends on the votes"),
    ],
)
def test_a_private_cap_without_use_is_refused(call, text):
    """The message says what is wrong, and what to do instead."""
    with pytest.raises(ParameterError, match=text):
        call()
