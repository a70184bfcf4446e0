"""The conformance suite, read as somebody without this library would read it."""

import json
import os
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import shortlist
from shortlist.audits.frequencies import ALARM, find_p_value
from shortlist.cli.app import app
from shortlist.mechanisms import MECHANISMS
from shortlist.testing import SeededBits


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """What the command writes."""
    path = tmp_path_factory.mktemp("suite") / "laws.json"
    result = CliRunner().invoke(app, ["conformance", "export", "--output", str(path)])
    assert result.exit_code == 0, result.output
    return json.loads(path.read_text(encoding="utf-8"))


def read_laws(case):
    """The law of each histogram, as exact decimals."""
    return [
        {
            (tuple(row["items"]), tuple(row.get("counts", ())), row.get("chosen")): Fraction(row["probability"])
            for row in each["law"]
        }
        for each in case["histograms"]
    ]


def test_every_mechanism_is_in_the_suite_with_whole_laws(suite):
    """Laws sum to 1 with what is left out, and every histogram of a pair is there."""
    assert {case["mechanism"] for case in suite["cases"]} == set(MECHANISMS)
    error = Fraction(suite["error"])
    for case in suite["cases"]:
        for law, histogram in zip(read_laws(case), case["histograms"], strict=True):
            total = sum(law.values()) + Fraction(histogram["left_out"])
            assert abs(total - 1) <= error * (len(law) + 1), case["mechanism"]
        assert {one for one, _ in case["neighbours"]} <= {*range(len(case["histograms"]))}


def test_the_laws_of_neighbours_keep_the_guarantee(suite):
    """From the file alone: probabilities differ by at most e^ε, and some pair comes near it."""
    error, nearest = Fraction(suite["error"]), {}
    for case in suite["cases"]:
        guarantee, laws = case["guarantee"], read_laws(case)
        limit = Fraction(Decimal(guarantee["epsilon"]).exp())
        if Fraction(guarantee["delta"]) or any(Fraction(each["left_out"]) > error for each in case["histograms"]):
            continue
        pairs = [pair for one, other in case["neighbours"] for pair in ((one, other), (other, one))]
        ratios = [laws[one][each] / laws[other][each] for one, other in pairs for each in laws[one]]
        assert max(ratios) <= limit * (1 + error * 10**6), case["mechanism"]
        nearest[case["mechanism"]] = max(nearest.get(case["mechanism"], 0), max(ratios) / limit)
    assert {"joint", "subset", "pnf-peel"} <= nearest.keys()
    assert max(nearest.values()) > 0.99


def test_our_own_draws_pass_and_others_fail(suite):
    """Draws of pnf-peel have the law of their case; those with an epsilon that is 30 % off are rejected."""
    case = next(each for each in suite["cases"] if each["mechanism"] == "pnf-peel" and each["parameters"]["k"] == 2)
    histogram = next(each for each in case["histograms"] if each["counts"] == [8, 4, 0])
    law = {tuple(row["items"]): float(row["probability"]) for row in histogram["law"]}

    def test_draws(epsilon):
        selector = shortlist.prepare(histogram["counts"], k=2, epsilon=epsilon, mechanism="pnf-peel")
        return find_p_value([tuple(each.tolist()) for each in selector.draw_many(20_000, SeededBits(1))], law)

    assert test_draws(1) > ALARM
    assert max(map(test_draws, (0.7, 1.3))) <= ALARM
    assert Counter(map(len, law)) == {2: 6}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
def test_laws_do_not_flood_a_terminal():
    """Without `--output`, a terminal gets a hint in place of megabytes of JSON."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "shortlist", "conformance", "export"]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert "--output laws.json" in done.stderr
