"""A mechanism in a file of one's own, as docs/own-mechanism.md shows it, works wherever a mechanism works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shortlist
from shortlist.errors import ParameterError
from shortlist.mechanisms import Joint, Mechanism
from shortlist.release import Release
from shortlist.testing import SeededBits

PAGE = (Path(__file__).parents[2] / "docs" / "own-mechanism.md").read_text(encoding="utf-8")
FILE, USE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PROJECT, *_ = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COUNTS = {"apple": 31, "pear": 19, "plum": 12, "fig": 2, "quince": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files of the page."""
    made = tmp_path_factory.mktemp("own")
    (made / "exponential_peel.py").write_text(FILE, encoding="utf-8")
    (made / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (made / "use.py").write_text(USE, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def kind(folder):
    """The class of the page."""
    names: dict[str, object] = {"__name__": "exponential_peel"}
    exec(compile(FILE, "exponential_peel.py", "exec"), names)
    return names["ExponentialPeel"]


@pytest.fixture(scope="module")
def installed(folder, tmp_path_factory):
    """A way to run a program where the package of the page is installed."""
    target = tmp_path_factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-compile")
    subprocess.run([*pip, "--target", target, folder], check=True, capture_output=True)

    def start(*command, cwd=folder):
        paths = [str(target), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)

    return start


def test_an_object_of_it_makes_lists_and_releases(kind):
    """It draws one by one, many at once, and makes a release whose caption says who states the guarantee."""
    mine = kind(k=2, epsilon=4)
    assert set(shortlist.top_k(COUNTS, mechanism=mine)) <= COUNTS.keys()
    prepared = shortlist.prepare(COUNTS, mechanism=mine)
    assert prepared.draw_many(50, SeededBits(1)).count(["apple", "pear"]) > 40
    release = prepared.release(SeededBits(1))
    assert release.guarantee == mine.guarantee
    assert "exponential-peel is no mechanism of shortlist" in " ".join(release.caption())
    assert Release.from_json(release.to_json()).mechanism == "exponential-peel"


def test_it_is_forecast_beside_the_others(kind):
    """A plan has a row for it, for every epsilon that a wish needs, and refuses an object for another epsilon."""
    made = shortlist.plan(COUNTS, k=2, epsilon=1, mechanism=kind(k=2, epsilon=1), draws=20, want="recall 0.5")
    assert "exponential-peel" in {row["mechanism"] for row in made.table} & made.answers.keys()
    with pytest.raises(ParameterError, match="must agree"):
        shortlist.plan(COUNTS, k=2, epsilon=1, mechanism=kind(k=2, epsilon=2))
    with pytest.raises(ParameterError, match="planned with mechanisms of this library"):
        shortlist.plan({"a": COUNTS, "b": COUNTS}, k=2, epsilon=1, groups_per_person=1, mechanism=kind(k=2, epsilon=1))


def test_an_object_of_it_selects_from_votes(kind, tmp_path):
    """`select` counts votes, charges its guarantee to a ledger, and releases a list. Lists by group are refused."""
    votes = {"person": [*range(300), *range(200)], "item": ["apple"] * 300 + ["pear"] * 200, "land": ["DE"] * 500}
    ledger = shortlist.Ledger.create(tmp_path / "budget.db", epsilon=1)
    names = {"person": "person", "item": "item", "domain": list(COUNTS)}
    release = shortlist.select(votes, **names, mechanism=kind(k=2, epsilon=1), ledger=ledger)
    assert (list(release), release.mechanism) == (["apple", "pear"], "exponential-peel")
    assert ledger.spent.epsilon == 1
    with pytest.raises(ParameterError, match="exponential-peel"):
        shortlist.select(votes, **names, by="land", groups=["DE"], groups_per_person=1, mechanism=kind(k=2, epsilon=1))


@pytest.mark.slow
def test_an_audit_without_a_law_bounds_epsilon_in_a_black_box(kind):
    """Samples alone fail a mechanism that draws with six times its epsilon, and pass the right one."""

    class Silent(kind):
        name = "silent"
        state_law = Mechanism.state_law

    class Loud(Silent):
        name = "loud"

        def _prepare(self, levels):
            return kind(k=self.k, epsilon=6 * self.epsilon, neighbours=self.neighbours).prepare(levels)

    common = {"trials": 1000, "tables": False, "bits": SeededBits(1)}
    right = shortlist.audit(Silent(k=1, epsilon=1), **common)
    assert right.passed
    assert [str(each.result) for each in right.findings] == ["not run", "pass", "pass"]
    wrong = shortlist.audit(Loud(k=1, epsilon=1), **common)
    assert wrong.result == "fail"


def test_a_wrong_class_is_refused_in_words(kind):
    """A name of the library, no name, and an object that does not draw are refused."""

    class Borrowed(kind):
        name = "joint"

    class Sentence(kind):
        name = "joint. Its guarantee is proven"

    class Idle(Joint):
        name = "idle"

        def _prepare(self, levels):
            return object()

    with pytest.raises(ParameterError, match="Borrowed must have a name of its own, not 'joint'"):
        shortlist.top_k(COUNTS, mechanism=Borrowed(k=1, epsilon=1))
    with pytest.raises(ParameterError, match=r"Sentence must have a name of its own.*\nHint: .* a word, or a few"):
        shortlist.top_k(COUNTS, mechanism=Sentence(k=1, epsilon=1))
    with pytest.raises(TypeError, match=r"must return a shortlist\.mechanisms\.Prepared"):
        shortlist.top_k(COUNTS, mechanism=Idle(k=1, epsilon=1))


def test_an_installed_package_registers_it(installed, tmp_path):
    """Its name works in Python, in `select`, `mechanisms` and `plan` of the command line; a near name is proposed."""
    program = (sys.executable, "-m", "shortlist")
    (tmp_path / "votes.csv").write_text("person,item\n" + "".join(f"{each},a\n" for each in range(300)))
    (tmp_path / "items.csv").write_text("item\na\nb\nc\n")
    select = (
        *program,
        "select",
        "votes.csv",
        "--person",
        "person",
        "--item",
        "item",
        "--domain",
        "items.csv",
    )
    done = installed(*select, "-k", "1", "--epsilon", "1", "--mechanism", "exponential-peel", cwd=tmp_path)
    assert "exponential-peel" in done.stdout, done.stderr
    listed = installed(*program, "mechanisms").stdout
    assert "\nexponential-peel\n" in listed
    assert "exponential-peel comes from the package exponential-peel" in listed
    plan = (
        *program,
        "plan",
        "--like",
        "zipf",
        "--items",
        "10",
        "--people",
        "1000",
        "-k",
        "2",
        "--epsilon",
        "1",
    )
    assert "exponential-peel" in installed(*plan, "--draws", "5", "--mechanism", "exponential-peel").stdout
    assert "did you mean 'exponential-peel'" in installed(*plan, "--mechanism", "exponental-peel").stderr


QUICK = """
from exponential_peel import ExponentialPeel

class QuickPeel(ExponentialPeel):
    name = "quick-peel"

    def choose(self, counts, bits):
        return list(range(self.k))
"""
"""A class whose lists take no time, because 64 lists are drawn to measure errors."""


@pytest.mark.slow
def test_it_is_measured_in_the_experiments_of_the_paper(installed, folder, tmp_path):
    """`python -m reproduction` measures times and errors of a class in a file, and the report has it."""
    (folder / "quick_peel.py").write_text(QUICK, encoding="utf-8")
    grid = ("--datasets", "games", "--vary", "beta", "--trials", "3", "--rounds", "1", "--output", tmp_path / "results")
    start = "import runpy, sys; sys.path[:0] = ['.', sys.argv.pop(1)]; runpy._run_module_as_main('reproduction')"
    own = ("--mechanism", "quick_peel.py")
    done = installed(sys.executable, "-c", start, Path(__file__).parents[2], *grid, *own)
    assert done.returncode == 0, done.stderr
    assert "quick-peel (yours)" in (tmp_path / "results" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_calls_of_the_page_run(installed):
    """The second block of the page prints lists, a plan and a passed audit."""
    done = installed(sys.executable, "use.py")
    assert done.stdout.splitlines()[-1] == "PASS: 9 checks passed", done.stdout + done.stderr
