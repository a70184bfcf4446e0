"""A folder of votes to work in, and the command line as a real process."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from shortlist.cli.app import app

Run = Callable[..., subprocess.CompletedProcess[str]]
Call = Callable[..., Result]
Select = Callable[..., Result]


def complete(usual: dict[str, str], arguments: tuple[str, ...]) -> list[str]:
    """Add the usual options that the arguments do not have. An option must not be given twice."""
    return [word for pair in usual.items() if pair[0] not in arguments for word in pair] + [*arguments]


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no account of an earlier test look interrupted."""
    monkeypatch.setattr("shortlist.ledger.latest", None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Votes and a domain as the examples name them: item i of 20 has 40 * (20 - i) voters, and one row is repeated."""
    people = [f"u{person}" for item in range(20) for person in range(40 * (20 - item))]
    tracks = [f"track {item:02d}" for item in range(20) for _ in range(40 * (20 - item))]
    (tmp_path / "plays").mkdir()
    half = len(people) // 2
    for name, part in [("first", slice(half)), ("second", slice(half - 1, None))]:
        table = pa.table({"user_id": people[part], "track": tracks[part]})
        pq.write_table(table, tmp_path / "plays" / f"{name}.parquet")
    catalogue = ["track", *(f"track {item:02d}" for item in range(20)), "nobody's track"]
    (tmp_path / "catalogue.csv").write_text("\n".join(catalogue) + "\n")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Run `shortlist` with some arguments in the folder, and with some variables in its environment."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "shortlist", *arguments],
            cwd=folder,
            env={**{name: value for name, value in os.environ.items() if name != "COLUMNS"}, **environment},
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    return run


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call `shortlist` as `run` does, but in this process: no interpreter has to start and to import engines."""
    monkeypatch.chdir(folder)
    # The workers of pytest-xdist have the width of the terminal, which a pipe has not.
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: str, **environment: str) -> Result:
        return CliRunner(env=environment).invoke(app, arguments, prog_name="shortlist")

    return call


@pytest.fixture
def select(call: Call) -> Select:
    """Call `shortlist select` on the folder's votes with further arguments, in this process."""

    usual = {"--person": "user_id", "--item": "track", "--domain": "catalogue.csv", "-k": "3", "--epsilon": "1"}

    def select(*arguments: str) -> Result:
        return call("select", "plays", *complete(usual, arguments))

    return select
