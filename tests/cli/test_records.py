"""`shortlist show`, `explain` and `verify`: a record is printed again, explained, and found in its ledger."""

import json
from pathlib import Path

import pytest

from shortlist.ledger.charging import Ledger
from shortlist.release import Publication

from .conftest import Call, Select


@pytest.fixture
def made(select: Select, folder: Path) -> None:
    """A release that was charged, in every format."""
    Ledger.create(folder / "budget.db", epsilon=10)
    outputs = [word for suffix in ("json", "csv", "parquet") for word in ("--output", f"top.{suffix}")]
    done = select("--ledger", "budget.db", "--note", "weekly", "--period", "2026-W03", *outputs)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith("wrote top.json\nwrote top.csv\nwrote top.parquet\n")


@pytest.mark.usefixtures("made")
def test_a_release_is_written_to_several_files(select: Select, folder: Path) -> None:
    """One release, one charge, every file; and no file is named twice."""
    assert len(Ledger.open(folder / "budget.db").charges) == 1
    assert (folder / "top.csv").read_text().startswith('"rank","item"\n1,')
    done = select("--output", "other.json", "-o", "other.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "each --output must be another file; 'other.json' is named twice" in done.stderr
    done = select("--output", "other.json", "--output", "top.csv")
    assert (done.exit_code, done.stdout) == (1, "")
    assert not (folder / "other.json").exists()


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("name", ["top.json", "top.parquet"])
def test_a_record_is_shown_again(call: Call, folder: Path, name: str) -> None:
    """As the release was printed, in every form."""
    shown = call("show", name).stdout
    assert "The top 3 of 21 items, by auto" in " ".join(shown.split())
    assert "Note: weekly." in " ".join(shown.split())
    assert call("show", name, "--format", "csv").stdout == (folder / "top.csv").read_text()
    assert call("show", name, "--format", "json").stdout == (folder / "top.json").read_text()


@pytest.mark.usefixtures("made")
def test_a_record_becomes_an_entry_of_the_registry(call: Call, folder: Path) -> None:
    """`show --registry` prints the YAML of `Publication.to_registry`."""
    assert call("show", "top.json", "--registry").stdout == Publication.from_json(folder / "top.json").to_registry()
    refused = call("show", "top.json", "--registry", "--format", "csv")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--format must not go with --registry; an entry is always YAML." in refused.stderr


@pytest.mark.usefixtures("made")
def test_a_record_is_explained(call: Call) -> None:
    """The paragraph is the one of `Release.explain`, as wide as the terminal."""
    done = call("explain", "top.json", COLUMNS="40")
    assert "was made with differential privacy" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 40


@pytest.mark.usefixtures("made")
def test_a_record_is_verified(call: Call, select: Select, folder: Path) -> None:
    """The record that was charged is found. Another record, another ledger and no ledger end with exit code 1."""
    done = call("verify", "top.json", "--ledger", "budget.db")
    assert done.exit_code == 0, done.stderr
    assert "top.json is the release of charge 1 of budget.db" in " ".join(done.stdout.split())
    assert call("verify", "top.parquet", "--ledger", "budget.db", "--quiet").stdout == ""
    changed = json.loads((folder / "top.json").read_text()) | {"note": "monthly"}
    (folder / "changed.json").write_text(json.dumps(changed))
    Ledger.create(folder / "other.db", epsilon=10)
    select("--output", "free.json")
    for record, ledger, words in (
        ("changed.json", "budget.db", "it was changed, or is another one"),
        ("top.json", "other.db", "it names another one"),
        ("free.json", "budget.db", "was charged to no ledger"),
        ("absent.json", "budget.db", "must be readable"),
        ("top.json", "absent.db", "must be a file"),
    ):
        done = call("verify", record, "--ledger", ledger)
        assert (done.exit_code, done.stdout) == (1, "")
        assert words in done.stderr


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("command", [["show"], ["explain"], ["verify", "--ledger", "budget.db"]])
def test_a_file_that_is_no_record_is_refused(call: Call, folder: Path, command: list[str]) -> None:
    """A file that is cut off and one of ranks and items only are told apart."""
    (folder / "cut.json").write_text((folder / "top.json").read_text()[:400])
    for name, hint in (("cut.json", "is the file complete?"), ("top.csv", "the record is in the .json file")):
        done = call(*command, name)
        assert (done.exit_code, done.stdout) == (1, "")
        assert f"{name!r} does not.\nHint: " in done.stderr
        assert hint in done.stderr


def test_a_record_that_contradicts_itself_is_not_shown(call: Call, select: Select, folder: Path) -> None:
    """Neither command repeats what it says."""
    select("--output", "top.json")
    stored = json.loads((folder / "top.json").read_text())
    stored["guarantee"]["epsilon"] = "0.001"
    (folder / "top.json").write_text(json.dumps(stored))
    for command in ("show", "explain"):
        done = call(command, "top.json")
        assert (done.exit_code, done.stdout) == (1, "")
        assert "must not contradict itself" in done.stderr
