"""The public face is typed as the documentation uses it: a user's strict mypy accepts every example."""

import doctest
import os
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import shortlist
from shortlist.mechanisms import MECHANISMS

pytestmark = pytest.mark.slow  # mypy runs once for all of them
ROOT = Path(__file__).parents[1]
_EXAMPLES = {"delta": '"1e-6"', "votes_per_person": "5"}
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FACE = """
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import shortlist

counts: Mapping[str, int] = {"apple": 3, "pear": 2}
assert_type(shortlist.top_k(counts, k=1, epsilon=Decimal("0.5")), list[str])
assert_type(shortlist.top_k({1: 3, 2: 2}, k=1, epsilon=Fraction(1, 2)), list[int])
assert_type(shortlist.top_k([3, 2], k=1, epsilon=1.5), NDArray[np.int64])
assert_type(shortlist.top_k({1: 3, 2: 2}, k=1, rho="0.03", delta=1e-6), list[int])
assert_type(shortlist.top_k(np.array([3, 2]), k=1, epsilon="1/3"), NDArray[np.int64])
selector = shortlist.prepare(counts, k=1, epsilon=1)
assert_type(selector, shortlist.Selector[list[str]])
assert_type(selector.draw(shortlist.testing.SeededBits(3)), list[str])
assert_type(selector.mechanism, shortlist.mechanisms.Mechanism)
assert_type(selector.guarantee, shortlist.Guarantee)
release: shortlist.Release = selector.release()
assert_type(release.to_json(), str)
assert_type(release[:1], tuple[Any, ...])
assert_type(shortlist.compose([release, selector, selector.guarantee], delta="1e-6"), shortlist.Guarantee)
assert_type(shortlist.compose(release).epsilon, Fraction)
votes = {"user": [1, 2], "track": ["a", "b"]}
domain = ["a", "b", "c"]
shortlist.select(votes, item="track", person="user", domain=domain, k=2, epsilon="1/3", ordered=False, delta=1e-6)
shortlist.select(votes, item="track", count="user", domain=domain, k=2, epsilon=1, sensitivity=3, label="title")
joint = shortlist.mechanisms.Joint(k=2, epsilon=1)
family = shortlist.select(
    votes, item="track", person="user", domain=domain, by="user", groups=[1], groups_per_person=1, k=2, epsilon=1
)
assert_type(family, shortlist.ReleaseFamily)
assert_type(family[1], shortlist.GroupList)
assert_type(shortlist.select(votes, item="track", person="user", by=["user"], mechanism=joint), shortlist.ReleaseFamily)
assert_type(shortlist.ReleaseFamily.from_json(family.to_json()), shortlist.ReleaseFamily)
shortlist.select(votes, item="track", person="user", domain=domain, mechanism=joint)


class Zeros:
    def draw(self, count: int) -> bytes:
        return bytes(count)


bits: shortlist.testing.Bits = Zeros()
try:
    shortlist.top_k(counts, k=1, epsilon=1, bits=bits)
except (shortlist.ParameterError, shortlist.DataError, shortlist.ShortlistError) as error:
    print(error.expected)
"""

WRONG = """
import shortlist

shortlist.top_k([3, 2], k="3", epsilon=1)
shortlist.top_k([3, 2], k=3, rho=[1])
shortlist.top_k([3, 2], k=1, epsilon=1, detla=1)
shortlist.select([], item="a", person="b", k=1, epsilon=1, detla=1)
shortlist.select([], item="a", person="b", k=1, epsilon={})
shortlist.select([], item="a", k=1, epsilon=1)
shortlist.select([], item="a", person="b", count="c", k=1, epsilon=1)
shortlist.select([], item="a", person="b", groups_per_person=3, k=1, epsilon=1)
shortlist.prepare([3, 2], k=1, epsilon=1, ordred=False)
shortlist.mechanisms.Joint(epsilon=1)
shortlist.mechanisms.Joint(k=3, epsilon=[1])
shortlist.Guarantee(epsilon=1).epsilon.spend()
"""


# The options of a strict user. Types of other libraries are not what is tested, and polars alone takes long to read.
OPTIONS = """
[mypy]
strict = true
ignore_missing_imports = true
follow_imports = silent
disable_error_code = import-untyped
[mypy-polars.*,pandas.*,duckdb.*,rich.*,typer.*,sqlalchemy.*,psycopg.*,matplotlib.*]
follow_imports = skip
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Run mypy once, as a user would, on all examples and on the two programs above."""
    folder = tmp_path_factory.mktemp("user")
    programs = {f"{path.parent.name}_{path.stem}": doctest.script_from_examples(path.read_text()) for path in DOCUMENTS}
    programs |= {"face": FACE, "wrong": WRONG, "mechanisms": constructions()}
    for name, text in programs.items():
        (folder / f"{name.replace('-', '_')}.py").write_text(text)
    (folder / "mypy.ini").write_text(OPTIONS)
    # Later runs are faster with what this one has read.
    command = [sys.executable, "-m", "mypy", f"--cache-dir={ROOT / '.mypy_cache' / 'user'}"]
    source = {"MYPYPATH": str(Path(shortlist.__file__).parents[1])}
    names = [f"{name.replace('-', '_')}.py" for name in programs]
    done = subprocess.run([*command, *names], cwd=folder, env={**os.environ, **source}, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    return {name: [line for line in lines if line.startswith(name)] for name in names}


def constructions() -> str:
    """Construct every mechanism with its parameters as users write them."""
    lines = ["import shortlist.mechanisms", "from decimal import Decimal"]
    for kind in MECHANISMS.values():
        needed = {field.name for field in fields(kind) if field.default is MISSING} - {"k", "epsilon"}
        for epsilon in ('"0.2"', "1", "0.5", 'Decimal("0.2")'):
            others = "".join(f", {name}={_EXAMPLES[name]}" for name in sorted(needed))
            lines.append(f'shortlist.mechanisms.{kind.__name__}(k=3, epsilon={epsilon}, neighbours="replace"{others})')
    return "\n".join(lines)


def test_a_user_s_mypy_accepts_every_example(complaints):
    """README, documentation, every mechanism's constructor and the public face pass mypy --strict."""
    assert not [line for name, lines in complaints.items() if name != "wrong.py" for line in lines]


def test_a_user_s_mypy_finds_mistakes(complaints):
    """Types are not so wide that they say nothing."""
    assert {line.split(":")[1] for line in complaints["wrong.py"]} == {str(line) for line in range(4, 16)}
