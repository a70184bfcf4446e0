"""Further hostile calls: plans, audits, releases without a domain, with extras, with ranges of k, and from ledgers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from hostile_values import COUNTS, NUMBERS, SECRET, SIZES, TEXTS, write

import shortlist
from shortlist import Release
from shortlist.mechanisms import MECHANISMS, Joint

if TYPE_CHECKING:
    from attack import Attack

UNLISTED = ["auto", "limited-domain", "threshold", "stable"]
RANGES: list[Any] = [(1, 2), (2, 2), (1, 3), (3, 1), (0, 1), (1, 10**9), (1, None), ("1", "2"), [1, 2], "1-2", (1,)]
EXTRAS = ["assess", "counts_epsilon", "counts_rho", "counts_delta", "others"]
EXTRAS += ["people", "sensitivity", "votes_per_person", "unit"]
WISHES: list[Any] = ["recall 0.9", "exact 0.5", "error 20", "recall", "recall 2", "error -1", "recall nan"]


def extras(attack: Attack) -> dict[str, Any]:
    """Some of what can be bought beside a list, or stated about the people."""
    chosen = attack.random.sample(EXTRAS, attack.random.choice([0, 1, 1, 2, 3]))
    usual = {"people": 100, "sensitivity": 1, "votes_per_person": 2, "others": True}
    return {name: attack.pick([*NUMBERS, *SIZES], usual.get(name, "0.1")) for name in chosen}


def bought(attack: Attack, described: list[str]) -> None:
    """A whole release from counts, with extras, and charged to a ledger or not."""
    given = {
        "k": attack.pick([*SIZES, *RANGES], 2, chance=0.6),
        "epsilon": attack.pick(NUMBERS, 1, chance=0.8),
        "mechanism": attack.mechanism(),
        **extras(attack),
    }
    if attack.random.random() < 0.3:
        given |= {"delta": attack.pick(NUMBERS, "1e-6", chance=0.7), "ordered": attack.pick(NUMBERS, False)}
    charged: dict[str, Any] = {}
    if attack.random.random() < 0.3:
        charged = {"ledger": attack.pick([*attack.paths, *TEXTS], attack.budget), "note": attack.pick(TEXTS, None)}
    counts = attack.pick(COUNTS, {"a": 5, "b": 3, "c": 1, "d": 0}, chance=0.6)
    named = attack.pick([*attack.paths, ""], str(attack.budget.path)) if attack.random.random() < 0.1 else None
    described.append(f"prepare({write(counts)}, {write(given)}).release({write(charged)}), environment {write(named)}")
    with patch.dict(os.environ, {} if named is None or "\0" in named else {"SHORTLIST_LEDGER": named}):
        if "SHORTLIST_LEDGER" in os.environ and attack.random.random() < 0.3:
            drawn = attack.random.choice([shortlist.top_k, lambda *a, **b: shortlist.prepare(*a, **b).draw_many(2)])
            assert not drawn(counts, **given), "drawn without a charge"
        before = len(attack.budget.charges) if charged or named else 0
        release = shortlist.prepare(counts, **given).release(**charged)
        paid = charged.get("ledger") is attack.budget or named == str(attack.budget.path)
        assert not paid or len(attack.budget.charges) == before + 1, "not charged"
    assert Release.from_json(release.to_json()) == release
    str(release)


def unlisted(attack: Attack, described: list[str]) -> None:
    """A selection without a domain."""
    given = attack.votes(described) | {"domain": None, "domain_column": None}
    given |= {
        "k": attack.pick([*SIZES, *RANGES], 2, chance=0.7),
        "epsilon": attack.pick(NUMBERS, 1, chance=0.8),
        "delta": attack.pick(NUMBERS, "0.01", chance=0.8),
        "mechanism": attack.pick([*TEXTS, *MECHANISMS], attack.random.choice(UNLISTED), chance=0.8),
        **(extras(attack) if attack.random.random() < 0.4 else {}),
    }
    if attack.random.random() < 0.2:
        given[attack.random.choice(["k_bar", "noise"])] = attack.random.choice([*NUMBERS, *SIZES, *TEXTS])
    if attack.random.random() < 0.2:
        given |= {"ledger": attack.pick(attack.paths, attack.budget), "note": attack.pick(TEXTS, "weekly")}
    described.append(f"select({write(given)})")
    release = shortlist.select(**given)
    assert len(set(map(repr, release.items))) == len(release.items)
    assert Release.from_json(release.to_json()) == release


def plan(attack: Attack, described: list[str]) -> None:
    """A plan, on counts or on invented ones."""
    given: dict[str, Any] = {
        "k": attack.pick([*SIZES, *RANGES], 2, chance=0.8),
        attack.random.choice(["epsilon", "epsilon", "rho"]): attack.pick(NUMBERS, 1, chance=0.8),
        "draws": attack.pick([*SIZES[10:], *NUMBERS[12:]], 3, chance=0.9),
    }
    if attack.random.random() < 0.5:
        given["counts"] = attack.pick(COUNTS, [9, 5, 3, 1, 0, 0])
    else:
        given |= {"like": attack.pick(TEXTS, "zipf", chance=0.9)}
        given |= {"items": attack.pick(NUMBERS, 50), "people": attack.pick(NUMBERS, "1e3")}
    usual = {"want": attack.random.choice(WISHES), "sort": "exact", "exponent": "1.1", "item": "track"}
    names = ["delta", "votes_per_person", "ordered", "neighbours", "exponent", "sort", "want", "item", "seed"]
    for name in attack.random.sample([*names, "budget_epsilon", "budget_delta"], attack.random.choice([0, 1, 2])):
        given[name] = attack.pick([*NUMBERS, *TEXTS, *SIZES], usual.get(name, 1))
    described.append(f"plan({write(given)})")
    made = shortlist.plan(**given)
    str(made)


def audit(attack: Attack, described: list[str]) -> None:
    """An audit. Calls that would be answered at length are left out: the audit has tests of its own."""
    usual: list[Any] = ["joint", *MECHANISMS, Joint(k=2, epsilon=1), None]
    given: dict[str, Any] = {"mechanism": attack.random.choice([*usual, "laplace", *TEXTS, *NUMBERS]), "tables": False}
    given |= {"epsilon": attack.pick(NUMBERS, 1), "trials": attack.pick([*NUMBERS, *SIZES], 1000)}
    name = given["mechanism"].name if isinstance(given["mechanism"], Joint) else given["mechanism"]
    if not attack.calm and (name is None or (isinstance(name, str) and name in MECHANISMS)):
        given["trials"] = attack.random.choice([0, -1, 999, 10**8, 1.5, "1000", None, True, float("nan"), b"1", []])
    described.append(f"audit({write(given)})")
    report = shortlist.audit(**given)
    assert SECRET not in str(report.to_dict())


def further_arguments(attack: Attack) -> list[str]:
    """Arguments of the commands plan, audit and ledger."""
    texts = [each for each in (*TEXTS, *NUMBERS, *SIZES) if isinstance(each, str)]

    def word(usual: str) -> str:
        return str(attack.pick([*texts, *attack.paths], usual, chance=0.8))

    path = attack.folder / f"new{attack.random.randrange(10**9)}.db"
    options = {
        "plan": {"--like": "zipf", "--items": "20", "--people": "100", "--draws": "2", "--want": "recall 0.9"},
        "audit": {"--mechanism": "laplace", "--trials": "1000"},
        "create": {"--delta": "1e-6", "--accounting": "both", "--basic-share": "1/3", "--population": "EU"},
        "afford": {
            "--assess": "0.1",
            "--counts-epsilon": "0.1",
            "--delta": "1e-6",
            "--k-bar": "20",
            "--noise": "laplace",
        },
    }
    flags = attack.random.sample(["--no-domain"], attack.random.choice([0, 1]))
    command = attack.random.choice(list(options))
    given = {"--epsilon": "1", **({"-k": "2"} if command in ("plan", "afford") else {}), **options[command]}
    paths = {"create": [str(path)], "afford": [str(attack.budget.path)]}
    words = ["ledger", command, *map(word, paths[command])] if command in paths else [command]
    kept = attack.random.sample(list(given), attack.random.randrange(len(given) + 1)) if flags else given
    return [*words, *flags, *(each for name in kept for each in (name, word(given[name])))]
