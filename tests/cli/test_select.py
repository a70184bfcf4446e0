"""`shortlist select` releases what the library releases, and keeps to its options."""

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from real_data import find_real_data

from shortlist import Ledger
from shortlist.exact.bits import SeededBits
from shortlist.release import Release
from shortlist.selection import select as select_from

from .conftest import Call, Run, Select

SEEDED = ("--seed", "7", "--insecure")


def test_release_is_the_library_s(select: Select, folder: Path) -> None:
    """With the same seed, the command writes the record that the library makes."""
    done = select(*SEEDED, "--output", "top.json")
    assert done.exit_code == 0, done.stderr
    columns = {"person": "user_id", "item": "track", "domain": folder / "catalogue.csv"}
    expected = select_from(folder / "plays", **columns, k=3, epsilon=1, bits=SeededBits(7))
    assert Release.from_json(folder / "top.json") == expected


def test_without_a_domain_up_to_k_items_are_released(call: Call, folder: Path) -> None:
    """The table says how many there are, and a list without items is a release too."""
    columns = ("--person", "user_id", "--item", "track", "--epsilon", "1", "--delta", "1e-6")
    done = call("select", "plays", *columns, "-k", "30", "--output", "top.json")
    assert done.exit_code == 0, done.stderr
    release = Release.from_json(folder / "top.json")
    assert (release.mechanism, release.d) == ("limited-domain", None)
    assert 0 < len(release) < 30
    assert f"The top {len(release)} items (up to 30 were asked for), by" in " ".join(done.stdout.split())
    (folder / "few.csv").write_text("user_id,track\n1,a\n2,b\n")
    done = call("select", "few.csv", *columns, "-k", "3", "--output", "none.json")
    assert done.exit_code == 0, done.stderr
    assert (
        "No items (up to 3 were asked for), by limited-domain. The votes are too few, or too close to each other."
        in " ".join(done.stdout.split())
    )
    assert Release.from_json(folder / "none.json").items == ()


def test_an_output_never_replaces_what_is_read_or_charged(call: Call, folder: Path) -> None:
    """--force replaces an earlier output, and no votes, domain or ledger. Nothing is charged."""
    (folder / "log.csv").write_text("user_id,track\n1,a\n2,b\n")
    assert call("ledger", "create", "budget.json", "--epsilon", "1").exit_code == 0
    asked = ("--person", "user_id", "--item", "track", "--domain", "catalogue.csv", "-k", "1", "--epsilon", "1")
    for name in ("log.csv", "catalogue.csv", "budget.json"):
        before = (folder / name).read_bytes()
        done = call("select", "log.csv", *asked, "--ledger", "budget.json", "--output", f"./{name}", "--force")
        assert done.exit_code == 2
        assert "--output must not be a file that is read or charged" in " ".join(done.stderr.split())
        assert (folder / name).read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        "select plays ASKED -k 1 --epsilon 1 --output plays/first.parquet",
        "select plays/*.parquet ASKED -k 1 --epsilon 1 --output top.json --output ./plays/first.parquet",
        "check plays ASKED --output plays/first.parquet",
        "check plays ASKED --time day --period 2026 --output catalogue.csv",
        "ledger show budget.json --output budget.json",
        "ledger report budget.html --output budget.html",
        "ledger report budget.json --audit budget.html --output budget.html",
        "plan counts.json --item item --count n -k 1 --epsilon 1 --output counts.json",
    ],
)
def test_no_command_replaces_what_it_reads(call: Call, folder: Path, command: str) -> None:
    """Files are named by their paths, by a glob, or by their folder. A budget that is lost cannot start again."""
    for name in ("budget.json", "budget.html"):
        Ledger.create(folder / name, epsilon=1)
    (folder / "counts.json").write_text('{"item": "a", "n": 5}\n{"item": "b", "n": 3}\n')
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    asked = "--person user_id --item track --domain catalogue.csv"
    done = call(*command.replace("ASKED", asked).split(), "--force")
    assert (done.exit_code, "must not be a file that is read or charged" in done.stderr) == (2, True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_ledger_of_the_environment_stays(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is charged, although no option names it."""
    Ledger.create(folder / "budget.json", epsilon=1)
    monkeypatch.setenv("SHORTLIST_LEDGER", "budget.json")
    before = (folder / "budget.json").read_bytes()
    asked = ("--person", "user_id", "--item", "track", "--domain", "catalogue.csv", "-k", "1", "--epsilon", "1")
    done = call("select", "plays", *asked, "--output", "budget.json", "--force")
    assert (done.exit_code, (folder / "budget.json").read_bytes()) == (2, before)


def test_printed_forms_are_those_of_the_files(select: Select, folder: Path) -> None:
    """--format json and csv print what --output would write; the table names the same items."""
    for suffix in ("json", "csv"):
        done = select(*SEEDED, "--format", suffix, "--output", f"top.{suffix}")
        assert done.stdout == (folder / f"top.{suffix}").read_text()
    items = json.loads((folder / "top.json").read_text())["items"]
    assert [row["item"] for row in csv.DictReader(io.StringIO(done.stdout))] == items
    table = select(*SEEDED, "--output", "top.parquet").stdout
    assert pq.read_table(folder / "top.parquet")["item"].to_pylist() == items
    assert all(item in table for item in items)


@pytest.mark.parametrize("order", [(), ("--unordered",)], ids=["ordered", "any order"])
def test_table_says_what_was_chosen_and_how_good_it_is(select: Select, order: tuple[str, ...]) -> None:
    """The choice of auto is named, and lines that are piped are short and without blanks at their ends."""
    shown = select(*order).stdout
    lines = shown.splitlines()
    assert "by auto, which chose " in " ".join(lines)
    assert "Accuracy: with probability 0.95, " in " ".join(lines)
    assert max(map(len, lines)) <= 60
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_every_item_can_be_printed(run: Run, folder: Path, encoding: str) -> None:
    """JSON and CSV are UTF-8 whatever the terminal; a table shows what the terminal lacks as escapes."""
    (folder / "counted.csv").write_text("track,votes\nŻuk,9000\nb,10\n", encoding="utf-8")
    (folder / "items.csv").write_text("track\nŻuk\nb\n", encoding="utf-8")
    options = "counted.csv --count votes --item track --domain items.csv -k 1 --epsilon 1"
    forms = ("json", "csv", "table") if encoding == "ascii" else ("table",)
    shown = {
        form: run("select", *options.split(), "--format", form, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
        for form in forms
    }
    assert {done.returncode for done in shown.values()} == {0}, shown
    assert r"\u017b" in shown["table"].stdout
    if "json" in shown:
        assert json.loads(shown["json"].stdout)["items"] == ["Żuk"]
        assert shown["csv"].stdout == '"rank","item"\n1,"Żuk"\n'


def test_seed_is_stamped(select: Select) -> None:
    """A release that can be repeated says that it is not secure, in every printed form that has room for it."""
    assert json.loads(select(*SEEDED, "--format", "json").stdout)["secure"] is False
    assert "NOT SECURE" in select(*SEEDED).stdout
    assert json.loads(select("--format", "json").stdout)["secure"] is True


@pytest.mark.parametrize("half", [("--seed", "7"), ("--insecure",)])
def test_seed_and_insecure_go_together(select: Select, half: tuple[str, ...]) -> None:
    """Either without the other is wrong usage."""
    done = select(*half)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --seed and --insecure must go together")


def test_parameters_reach_the_record(select: Select) -> None:
    """Mechanism, its parameters, neighbours and unit are in the record as they were written."""
    options = "--mechanism fastjoint --beta 0.1 --neighbours replace --unit household --epsilon 0.3 --format json"
    record = json.loads(select(*options.split()).stdout)
    assert record["mechanism"] == "fastjoint"
    assert record["parameters"]["beta"] == "0.1"
    assert record["guarantee"]["epsilon"] == "0.3"
    assert (record["guarantee"]["neighbours"], record["guarantee"]["unit"]) == ("replace", "household")


def test_labels_are_carried(call: Call, folder: Path) -> None:
    """--label takes columns of the domain into every output."""
    rows = [f'track {item:02d},Title {item},"Artist, {item}"' for item in range(20)]
    (folder / "titles.csv").write_text("\n".join(["track,title,artist", *rows]) + "\n")
    given = [
        "plays",
        "--person",
        "user_id",
        "--item",
        "track",
        "--domain",
        "titles.csv",
        "-k",
        "2",
        "--epsilon",
        "9",
        "--output",
        "top.csv",
    ]
    done = call("select", *given, "--label", "title, artist", "--format", "csv")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[:2] == [
        '"rank","item","title","artist"',
        '1,"track 00","Title 0","Artist, 0"',
    ]
    assert done.stdout == (folder / "top.csv").read_text()


def test_counted_votes_are_taken(call: Call, folder: Path) -> None:
    """--count reads counts, and --sensitivity says how much one person adds."""
    (folder / "counted.csv").write_text("track,votes\na,9000\nb,6000\nc,10\n")
    (folder / "items.csv").write_text("name,year\na,1999\nb,2001\nc,2003\n")
    options = "counted.csv --count votes --sensitivity 4 --item track --domain items.csv --domain-column name"
    done = call("select", *options.split(), "-k", "2", "--epsilon", "1", "--format", "json")
    record = json.loads(done.stdout)
    assert record["items"] == ["a", "b"]
    assert record["guarantee"]["epsilon"] == "1"


def test_database_is_queried(call: Call, folder: Path) -> None:
    """--database and --sql read the votes, --domain-sql the domain."""
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.execute("CREATE TABLE sales (buyer INTEGER, book TEXT)")
    connection.executemany("INSERT INTO sales VALUES (?, ?)", [(each, "ab"[each % 3 == 0]) for each in range(3000)])
    connection.execute("CREATE TABLE books AS SELECT DISTINCT book FROM sales UNION SELECT 'c'")
    connection.commit()
    connection.close()
    options = ["--database", "shop.sqlite", "--sql", "SELECT * FROM sales", "--domain-sql", "SELECT book FROM books"]
    done = call(
        "select", *options, "--person", "buyer", "--item", "book", "-k", "2", "--epsilon", "1", "--format", "csv"
    )
    assert done.stdout == '"rank","item"\n1,"a"\n2,"b"\n', done.stderr


def test_games_are_released_with_their_own_items_as_domain(call: Call, folder: Path) -> None:
    """A real log of games is released from the command line; the list of games is public for Steam."""
    votes = find_real_data("games.votes.csv.gz")
    import gzip

    with gzip.open(votes, "rt", newline="") as file:
        games = sorted({row["game"] for row in csv.DictReader(file)})
    with (folder / "games.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["game"], *([game] for game in games)])
    options = ["--person", "user", "--item", "game", "--domain", "games.csv", "-k", "10", "--epsilon", "1", *SEEDED]
    done = call("select", str(votes), *options, "--format", "json")
    expected = select_from(votes, person="user", item="game", domain=games, k=10, epsilon=1, bits=SeededBits(7))
    record = json.loads(done.stdout)
    assert record["items"] == list(expected.items)
    assert (record["domain_size"], record["secure"]) == (len(games), False)


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made with pty")
@pytest.mark.parametrize(("options", "shown"), [((), True), (("--quiet", "--output", "top.csv"), False)])
def test_progress_is_for_terminals(folder: Path, options: tuple[str, ...], shown: bool) -> None:
    """The steps are shown on a terminal unless --quiet, and never mix with the result."""
    import pty

    ours, theirs = pty.openpty()
    arguments = ["select", "plays", "--person", "user_id", "--item", "track", "--domain", "catalogue.csv"]
    with subprocess.Popen(
        [sys.executable, "-m", "shortlist", *arguments, "-k", "3", "--epsilon", "1", "--format", "csv", *options],
        cwd=folder,
        env={**os.environ, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as process:
        os.close(theirs)
        output = process.communicate(timeout=120)[0]
    seen = b""
    try:
        while part := os.read(ours, 4096):
            seen += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    assert output.startswith('"rank","item"\n1,') == shown
    assert (b"items" in seen) == shown
    assert process.returncode == 0


def test_no_progress_without_a_terminal(select: Select) -> None:
    """When nobody looks, stderr has nothing but remarks."""
    assert select().stderr == ""
    assert select("--quiet", "--output", "top.json").stderr == ""


def test_a_missing_header_is_answered_with_the_option(call: Call, folder: Path) -> None:
    """Votes and domain have options of their own."""
    (folder / "votes.csv").write_text("u1,track 01\n")
    options = ["--item", "track", "--person", "user", "--domain", "catalogue.csv", "-k", "3", "--epsilon", "1"]
    done = call("select", "votes.csv", *options)
    assert "If there is no header, pass --no-header: columns are then called 1, 2 and so on" in done.stderr
    assert done.stderr.endswith("as with --delimiter :\n")  # a shell changes ~ and * and ;
    done = call("select", "plays", *options, "--domain-column", "song")
    assert "pass --domain-no-header and --domain-column 1: columns are then called 1, 2" in done.stderr
