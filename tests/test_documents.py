"""The commands of the documentation work as they are written, and its pages become a site without a warning."""

import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import duckdb
import psycopg
import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

import shortlist
from shortlist import Ledger
from shortlist.audits.run import AuditReport
from shortlist.cli.app import app

ROOT = Path(__file__).parents[1]
# The commands of own-mechanism.md need a package that is installed: tests/mechanisms/test_own_mechanism.py installs it.
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - {ROOT / "docs" / "own-mechanism.md"})]
SERVER = re.compile(r"postgresql://\w+@db\.example\.org/\w+(\?|)")


def read_commands(page: Path) -> list[list[str]]:
    """Read the arguments of each `shortlist` in the shell blocks of a page, as a shell does.

    A demo and an audit are left out: they take seconds and minutes, and have tests of their own.
    """
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = "".join(block for language, block in blocks if language in ("", "sh")).replace("\\\n", " ").splitlines()
    calls = [line for line in lines if re.match(r"shortlist (?!demo|audit)", line)]
    program = "shortlist() { printf '%s\\n' \"$@\" ''; }\nset -f\n" + "\n".join(calls)
    words = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True).stdout
    return [each.split("\n") for each in words.split("\n\n")[:-1]]


COMMANDS = {page: read_commands(page) for page in PAGES}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the demo, and the others that pages name, made from them."""
    folder: Path = tmp_path_factory.mktemp("documents") / "files"
    done = CliRunner().invoke(app, ["demo", "--folder", str(folder), "--quiet"])
    assert done.exit_code == 0, done.output
    for name in ("top10.json", "charts.json"):
        (folder / name).unlink()
    (folder / "plays").mkdir()
    for name, query in {
        "plays/2026-W46.parquet": "SELECT * FROM plays",
        "counts.csv": "SELECT track, min(country) AS country, count(*) AS plays FROM plays WHERE track > '' GROUP BY 1",
    }.items():
        plays = duckdb.read_parquet(str(folder / "plays.parquet"))  # noqa: F841
        duckdb.sql(f"COPY ({query}) TO '{folder / name}'")
    # What an audit writes: no page's audit is run.
    AuditReport(made=datetime.now(UTC), epsilon=Fraction(1), trials=5000, findings=()).to_json(folder / "audit.json")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if COMMANDS[page]], ids=lambda page: page.name)
def test_the_commands_of_a_page_work(page, files, tmp_path, monkeypatch, request):
    """They run one after the other, on the files of the demo."""
    monkeypatch.chdir(shutil.copytree(files, tmp_path / "trial"))
    text = page.read_text(encoding="utf-8")
    server = request.getfixturevalue("postgres") if SERVER.search(text) else ""
    if "FROM plays" in text and server:
        with psycopg.connect(server) as connection:
            rows = "SELECT 'u' || i AS user_id, 'Blue Valley' AS track FROM generate_series(1, 400) AS s(i)"
            connection.execute(f"DROP TABLE IF EXISTS plays; CREATE TABLE plays AS {rows}")
    if "ledger create" not in text:
        Ledger.create("budget.db", epsilon=10, delta="1e-6")
    for number, words in enumerate(COMMANDS[page]):
        words = [SERVER.sub(lambda found: server + found[1].replace("?", "&"), word) for word in words]
        # Without a terminal, a check must be written to a file. Fewer draws make a forecast less exact, and quicker.
        words += ["--output", f"check{number}.txt"] if words[0] == "check" and "--output" not in words else []
        words += ["--draws", "5"] if words[0] == "plan" else []
        done = CliRunner().invoke(app, words, prog_name="shortlist")
        assert done.exit_code == 0, (words, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook, monkeypatch):
    """Its cells run from the top, and it holds what they gave when it was last run."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MPLBACKEND", "template")  # draws nothing, and needs no screen
    cells = [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    assert any(cell["outputs"] for cell in cells)


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("myst_nb") is None, reason="the packages of the extra `docs` are not installed: run make docs once"
)
def test_the_site_is_built_without_a_warning(tmp_path):
    """Every page, link, heading, docstring and option of the program becomes a page of the site."""
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-c", "docs/site"]
    done = subprocess.run(
        [*build, "--doctree-dir", tmp_path / "trees", ".", tmp_path / "site"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "shortlist ledger afford" in (tmp_path / "site" / "docs" / "options.html").read_text(encoding="utf-8")


def test_no_page_is_too_long():
    """A page answers one question in at most 1,500 words, and the README in 1,000. The reference may be longer."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1000
    _, _, reference = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("## Reference")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name in reference or len(page.read_text(encoding="utf-8").split()) <= 1500, page.name


def test_no_underscore_of_a_formula_is_lost():
    """Markdown takes two underscores for emphasis, as in x′_i and y′_i. Pages mark emphasis by stars."""
    parser = MarkdownIt("commonmark").enable("table")
    for page in (page for folder in ("docs", "src", "reproduction") for page in (ROOT / folder).rglob("*.md")):
        texts = [each.children or [] for each in parser.parse(page.read_text(encoding="utf-8"))]
        lost = [each.content for text in texts for mark, each in pairwise(text) if mark.markup in ("_", "__")]
        assert not lost, (page.name, lost)


def test_the_reference_has_every_public_name():
    """Each name that `shortlist` exports is described from its docstring."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8").split()
    assert not {f"shortlist.{name}" for name in shortlist.__all__ if name != "__version__"}.difference(page)
