"""The package as others get it: built, installed where nothing else is, and used."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from itertools import takewhile
from pathlib import Path

import pytest

from shortlist.version import __version__

ROOT = Path(__file__).parents[1]
# Other places to import from would hide what the package lacks. Compiled modules are kept where the package is.
CLEAN = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONPYCACHEPREFIX")}
PROGRAM = """
import shortlist, sys
assert shortlist.top_k({"a": 10**6, "b": 0, "c": 10**5}, k=2, epsilon=1) == ["a", "c"]
assert sys.prefix in shortlist.__file__
print(shortlist.__version__)
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """The Python of an environment with nothing in it but pip."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def test_the_wheel_holds_the_package_and_nothing_else(built):
    """All modules, their proofs and the mark of types are in it; tests and documents are not."""
    (wheel,) = built.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    files = (path for path in (source / "shortlist").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert held == {str(path.relative_to(source)) for path in files}
    assert "shortlist/py.typed" in held
    assert not any("reproduction" in name for name in held)
    assert "shortlist/mechanisms/joint.proof.md" in held


def test_the_sdist_holds_what_a_packager_needs(built):
    """The tests and the documents are in it, an environment is not."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "tests/conftest.py", "docs/privacy.md"} <= names
    assert "reproduction/README.md" in names
    assert not any(name.startswith((".venv", "dist", ".git/")) for name in names)


def test_the_citation_has_the_keywords_of_the_package():
    """In the same order, so that both are found by the same words."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    _, _, after = (ROOT / "CITATION.cff").read_text(encoding="utf-8").partition("\nkeywords:\n")
    cited = [line.removeprefix("  - ") for line in takewhile(lambda line: line.startswith("  - "), after.splitlines())]
    assert cited == project["keywords"]
    assert "FastJoint" in cited


def test_it_installs_where_nothing_else_is(built, clean, tmp_path):
    """Alone it says which extra the command line needs; with its dependencies both forms install, and select."""
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    install = (clean, "-m", "pip", "install", "--quiet", "--no-compile")
    run(*install, "--no-deps", wheel)
    said = subprocess.run(
        [clean.with_name("shortlist"), "demo"], capture_output=True, text=True, env=CLEAN, cwd=tmp_path
    )
    assert said.returncode == 1
    assert "pip install 'shortlist[cli]'" in said.stderr
    assert "Traceback" not in said.stderr
    # What the hint says to run works before shortlist is on an index: it is installed already.
    hinted = re.search(r"pip install '(.*?)'", said.stderr)[1]
    planned = run(clean, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-", hinted)
    assert {"duckdb", "typer"} <= {each["metadata"]["name"] for each in json.loads(planned)["install"]}
    run(*install, wheel)
    assert run(clean, "-c", PROGRAM, cwd=tmp_path).strip() == __version__
    run(clean, "-m", "pip", "uninstall", "--quiet", "--yes", "shortlist")
    run(*install, sdist)
    assert run(clean, "-c", PROGRAM, cwd=tmp_path).strip() == __version__


def test_the_readme_runs_with_what_make_demo_installs(built, clean, tmp_path):
    """Every block of it, from top to bottom: commands in a folder of their own, and Python as doctests."""
    (wheel,) = built.glob("*.whl")
    run(clean, "-m", "pip", "install", "--quiet", "--no-compile", f"{wheel}[cli]")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    commands = [block for language, block in blocks if not language and not block.startswith("make ")]
    assert len(commands) >= 3
    path = f"{clean.parent}{os.pathsep}{os.environ['PATH']}"
    terminal = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    shell = ("bash", "-euc", "\n".join(commands))
    run(sys.executable, "-c", terminal, *shell, cwd=tmp_path, env={**CLEAN, "PATH": path})
    run(clean, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", ROOT / "README.md", cwd=tmp_path)


def test_the_metadata_is_ready_for_an_index(built):
    """The wheel states the versions of Python that the workflow tests, its licence, and an extra for every guess."""
    (wheel,) = built.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
    workflow = (ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    tested = re.search(r"python: \[(.*?)\]", workflow)[1].replace('"', "").split(", ")
    assert re.findall(r"Classifier: Programming Language :: Python :: (3\.\d+)", metadata) == tested
    extras = set(re.findall(r"^Provides-Extra: (.*)$", metadata, re.MULTILINE))
    assert {"all", "cli", "duckdb", "ibis", "pandas", "polars", "postgresql", "pyspark", "sqlalchemy"} <= extras
    assert "License-Expression: Apache-2.0" in metadata
    assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())


def test_one_command_writes_every_address(tmp_path):
    """A copy of the repository is published at an address, twice. Its links, citation and package are then right."""
    ignored = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "build", "dist", "results")
    copy = shutil.copytree(ROOT, tmp_path / "copy", ignore=ignored, symlinks=True)
    code, site = "https://github.com/owner/shortlist", "https://owner.github.io/shortlist"

    def publish(*addresses):
        before = read_files(copy)
        run(sys.executable, copy / ".ci" / "publish_at", *addresses)
        after = read_files(copy)
        return {str(path.relative_to(copy)) for path in after if after[path] != before[path]}

    changed = publish("https://example.org/a/b", "https://example.org")
    assert publish(code, f"{site}/") <= changed
    assert publish(code, site) == set()
    assert changed >= {
        "README.md",
        "pyproject.toml",
        "SECURITY.md",
        "CITATION.cff",
        ".github/ISSUE_TEMPLATE/config.yml",
    }
    assert not any(b"example.org/a/b" in (copy / name).read_bytes() for name in changed)
    assert f'\nrepository-code: "{code}"\n' in (copy / "CITATION.cff").read_text(encoding="utf-8")
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_links.py", cwd=copy)
    checks = ("-k", "citation or pinned or metadata")
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_packaging.py", *checks, cwd=copy)
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "dist", copy)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
    assert f"Project-URL: Source, {code}\n" in metadata
    assert f"Project-URL: Documentation, {site}/\n" in metadata
    # An index of packages shows the README, from where no link may lead into a folder of the repository.
    assert f"]({code}/raw/v{__version__}/docs/reproduction/one-list.png)" in metadata
    assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)\s]+)\)", metadata))


def read_files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [(), ("https://github.com/owner/shortlist",), ("github.com/a/b", "https://a.org")])
def test_wrong_addresses_are_refused(words):
    """Both must be given, and both begin with https."""
    done = subprocess.run([sys.executable, ROOT / ".ci" / "publish_at", *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert ".ci/publish_at https://github.com/OWNER/shortlist" in done.stderr


def test_every_action_is_pinned_by_a_commit():
    """A tag of an action can be moved, and a commit cannot. The tag is a comment."""
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for line in re.findall(r"uses: (.*)", workflow.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), (workflow.name, line)


def test_the_citation_names_the_version():
    """CITATION.cff is about the version that is built."""
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def run(*command, cwd=None, env=CLEAN):
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
