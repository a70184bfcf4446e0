"""`shortlist ledger` in words: create, show, afford."""

import hashlib
import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import shortlist
from shortlist import Ledger
from shortlist.cli.app import app
from shortlist.ledger.charging import Account
from shortlist.mechanisms import Joint

from .conftest import Call, Select


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def ledger(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["ledger", *map(str, arguments)])


def test_a_ledger_is_created_charged_and_shown(path: Path, tmp_path: Path) -> None:
    """What was created is shown, with each charge, what is spent and what is left."""
    made = ledger("create", path, "--epsilon", "10", "--delta", "1e-6", "--population", "customers EU")
    assert made.exit_code == 0, made.output
    opened = Ledger.open(path)
    opened.charge(Joint(k=10, epsilon="0.5"), note="weekly top 10")
    shown = ledger("show", path, "--output", tmp_path / "ledger.json")
    for part in (
        "customers EU",
        "Accounting: basic and zCDP",
        "epsilon 0.5",
        "epsilon 9.5",
        "weekly top 10",
        "not finished",
    ):
        assert part in shown.output
    stored = json.loads((tmp_path / "ledger.json").read_text())
    assert stored["spent"] == {"epsilon": "0.5", "delta": "0", "rho": "0.03125", "rho_delta": "0"}
    assert stored["unfinished"] == [1]


def test_an_empty_ledger_is_shown(path: Path) -> None:
    """Nothing is spent, everything is left."""
    ledger("create", path, "--epsilon", "1/3", "--quiet")
    assert "Spent:  epsilon 0\nLeft:   epsilon 1/3" in ledger("show", path).output


@pytest.mark.parametrize("columns", ["60", "80"])
def test_a_ledger_is_shown_in_few_columns(path: Path, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are not broken, and no line is wider than the terminal or ends in blanks."""
    ledger("create", path, "--epsilon", "10", "--delta", "1e-6", "--population", "customers EU")
    Ledger.open(path).charge(Joint(k=10, epsilon="1/7"), note="the weekly list of the ten most played tracks " * 2)
    monkeypatch.setenv("COLUMNS", columns)
    lines = ledger("show", path).output.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert all(line == line.rstrip() for line in lines)
    assert any("1/7-DP (rho 1/392)" in line for line in lines)


def test_what_is_spent_is_said_in_words_and_drawn(path: Path, tmp_path: Path) -> None:
    """The words are those of the definition, with the factor rounded up. One bar shows the share and its charges."""
    ledger("create", path, "--epsilon", "2", "--delta", "1e-6")
    for _ in range(3):
        Ledger.open(path).charge(Joint(k=10, epsilon="0.2"))
    shown = " ".join(ledger("show", path, "--output", tmp_path / "ledger.json").output.split())
    assert "So far: 3 releases, 0.6-DP together. The odds that a given person is in the data change by at most" in shown
    assert "plus 1e-6. So far:" in shown  # the promise of the budget
    (who,) = {f"Charged by: {charge.user} on {charge.host} (3)" for charge in Ledger.open(path).charges}
    assert who in shown
    (share,) = re.findall(r" \d{4}-\d\d-\d\d ━+╸? (\d+) % 3 ", shown)
    # The sum of rhos is the smaller share, rounded up.
    assert int(share) == math.ceil(3 * Fraction("0.2") ** 2 / 8 * 100 / (Ledger.open(path).budget.rho or 1))
    assert json.loads((tmp_path / "ledger.json").read_text())["so_far"]["epsilon"] == "0.6"
    for _ in range(40):
        Ledger.open(path).charge(Joint(k=10, epsilon="0.05"))
    shown = " ".join(ledger("show", path).output.split())
    assert re.search(r"So far: 43 releases, \(1\.\d+, 1e-6\)-DP together\. Whether or not", shown)
    assert "This holds if the number of releases and their epsilons were fixed before the first one." in shown


def test_a_quiet_ledger_prints_nothing_but_errors(path: Path) -> None:
    """It says by its exit code whether the ledger can be read."""
    assert ledger("create", path, "--epsilon", "1", "--quiet").output == ""
    done = ledger("show", path, "--quiet")
    assert (done.exit_code, done.output) == (0, "")


def test_afford_counts_releases(path: Path) -> None:
    """A number alone on stdout, for scripts."""
    ledger("create", path, "--epsilon", "10")
    assert ledger("afford", path, "-k", "10", "--epsilon", "0.5").output == "20\n"
    assert ledger("afford", path, "-k", "10", "--epsilon", "11").stdout == "0\n"


def test_afford_knows_weights(path: Path) -> None:
    """With --max-weight, a release is what `select` would charge for one, or is refused as it would be there."""
    ledger("create", path, "--epsilon", "10")
    asked = ("afford", path, "-k", "10", "--epsilon", "0.5", "--max-weight", "60")
    assert ledger(*asked).output == "20\n"
    votes = {"user": [1, 2], "track": ["a", "b"], "played": [3, 90]}
    shortlist.select(votes, person="user", item="track", weight="played", max_weight=60, domain=["a", "b"], k=1,
                     epsilon="0.5", ledger=path)  # fmt: skip
    assert ledger(*asked, "--weight-unit", "minutes").output == "19\n"
    for wrong, words in (
        ((*asked, "--delta", "1e-9", "--mechanism", "cdp-peel"), "--max-weight above 1 must go with a mechanism that"),
        ((*asked[:-2], "--weight-unit", "minutes"), "--weight-unit must go with --max-weight"),
    ):
        refused = ledger(*wrong)
        assert refused.exit_code == 2
        assert words in refused.stderr


def test_afford_says_why_nothing_is_covered(path: Path, tmp_path: Path) -> None:
    """No release fits any more: which accounting has nothing left, or that a delta is missing, in remarks on stderr."""
    ledger("create", path, "--epsilon", "10", "--delta", "1e-6")
    Ledger.open(path).charge(Joint(k=1, epsilon=10))
    done = ledger("afford", path, "-k", "10", "--epsilon", "2")
    assert (done.exit_code, done.stdout) == (0, "0\n")
    assert done.stderr.splitlines()[0] == "no release like this one fits into what is left of the budget"
    assert "epsilon 0, delta 5e-7 by basic accounting, or nothing by zCDP accounting is left" in done.stderr
    assert "computed" not in done.stderr
    ledger("create", tmp_path / "pure.db", "--epsilon", "10")
    done = ledger("afford", tmp_path / "pure.db", "-k", "10", "--epsilon", "1", "--delta", "1e-6", "--no-domain")
    assert (done.exit_code, done.stdout) == (0, "0\n")
    assert "the budget has no delta, so it covers no release with one: leave --delta out" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
def test_afford_says_on_a_terminal_what_it_counts(path: Path) -> None:
    """A person reads words with the number."""
    import pty

    ledger("create", path, "--epsilon", "10")
    ours, theirs = pty.openpty()
    command = ["ledger", "afford", str(path), "-k", "10", "--epsilon", "10"]
    subprocess.run([sys.executable, "-m", "shortlist", *command], stdout=theirs, check=True, timeout=120)
    os.close(theirs)
    assert os.read(ours, 4096).decode().strip() == "1 more release like this"
    os.close(ours)


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [
        (("create", "budget.db", "--epsilon", "0"), "--epsilon must be above 0", 2),
        (("create", "budget.db", "--epsilon", "1", "--accounting", "zcdp"), "--accounting must be 'basic'", 2),
        (("create", "budget.db", "--epsilon", "1", "--basic-share", "1/2"), "--basic-share must go with", 2),
        (("show", "absent.db"), "No such file", 1),
        (("afford", "absent.db", "-k", "1", "--epsilon", "1"), "No such file", 1),
        (("show", "absent.db", "--output", "ledger.txt"), "--output must end in .json", 2),
        (("report", "absent.db"), "--output must name the page; it was not given.\nHint: pass --output report.html", 2),
        (("report", "absent.db", "--output", "report.pdf"), "--output must end in .html", 2),
        (("report", "absent.db", "--output", "report.html"), "No such file", 1),
    ],
)
def test_errors_are_in_the_words_of_the_command_line(
    arguments: tuple[str, ...], text: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options are named as they are typed."""
    monkeypatch.chdir(tmp_path)
    done = ledger(*arguments)
    assert text in done.stderr
    assert done.exit_code == code
    assert not list(tmp_path.iterdir())


def test_other_relations_are_refused(path: Path) -> None:
    """The error says that they do not add up."""
    ledger("create", path, "--epsilon", "10", "--neighbours", "replace", "--unit", "household")
    done = ledger("afford", path, "-k", "10", "--epsilon", "0.5")
    assert "do not add up" in done.stderr
    same = ledger("afford", path, "-k", "10", "--epsilon", "0.5", "--neighbours", "replace", "--unit", "household")
    assert same.output == "20\n"


def test_a_note_cannot_steer_a_terminal(path: Path) -> None:
    """Notes are one line of printable characters."""
    ledger("create", path, "--epsilon", "10", "--population", "EU\x1b[2J")
    assert not path.exists()


def test_a_selection_is_charged(select: Select, folder: Path) -> None:
    """`--ledger` charges, `--note` is kept, and the record names the population; then nothing is left."""
    ledger("create", "budget.db", "--epsilon", "1", "--population", "customers EU")
    done = select("--ledger", "budget.db", "--note", "weekly", "--output", "top.json")
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("wrote top.json\ncharged to budget.db: 1-DP ")
    assert "add-remove; left: epsilon 0\n" in done.stderr
    (charge,) = Ledger.open(folder / "budget.db").charges
    assert charge.note == "weekly"
    assert charge.release == hashlib.sha256((folder / "top.json").read_bytes()).hexdigest()
    record = json.loads((folder / "top.json").read_text())
    assert record["population"] == "customers EU"
    # The table of the release and the ledger name it alike.
    assert f"Release {record['id'][:12]}, " in done.stdout
    assert f"UTC, release {record['id'][:12]}\n" in ledger("show", "budget.db").output
    again = select("--ledger", "budget.db", "--output", "again.json")
    assert again.exit_code == 4
    assert "; epsilon 0 is left; this release needs " in again.stderr
    assert not (folder / "again.json").exists()


def test_a_scheduler_can_tell_runs_apart(select: Select, folder: Path) -> None:
    """Exit codes: done, done before, bad input, budget exhausted."""
    ledger("create", "budget.db", "--epsilon", "2")
    asked = ("--ledger", "budget.db", "--once", "top 2026-W46")
    assert select(*asked, "--output", "top.json").exit_code == 0
    before = (folder / "top.json").read_bytes()
    refused = select(*asked, "--output", "top.json")
    assert (refused.exit_code, "pass --force: the same release is written again, free" in refused.stderr) == (1, True)
    again = select(*asked, "--output", "top.json", "--force")
    assert again.exit_code == 5
    assert "released before as charge 1 of budget.db" in again.stderr
    assert (folder / "top.json").read_bytes() == before
    other = select(*asked, "--mechanism", "joint", "--output", "other.json")
    assert (other.exit_code, "for another" in other.stderr) == (2, True)
    missing = select(*asked, "--domain", "absent.csv", "--output", "other.json")
    assert missing.exit_code == 2, missing.stderr
    Ledger.open("budget.db").charge(Joint(k=1, epsilon=Ledger.open("budget.db").left.epsilon))
    assert select("--ledger", "budget.db", "--output", "no.json").exit_code == 4


def do_before_finishing(patch: pytest.MonkeyPatch, step: Callable[[], object]) -> None:
    """Do something when a release is made and its charge is not finished yet."""
    original = Account.finish

    def finish(account: Account, release: Any) -> Any:
        step()
        return original(account, release)

    patch.setattr(Account, "finish", finish)


def test_a_failure_after_the_charge_has_its_own_exit_code(select: Select, folder: Path) -> None:
    """The file cannot be written any more: the charge is spent, and with a key another run is free."""
    ledger("create", "budget.db", "--epsilon", "2")
    (folder / "out").mkdir()
    for key, words in (
        ((), "another run is charged again"),
        (("--once", "a"), "another run with the same key is free"),
    ):
        (folder / "out").mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            do_before_finishing(patch, (folder / "out").rmdir)
            done = select("--ledger", "budget.db", *key, "--output", "out/top.json")
        assert done.exit_code == 6, done.stderr
        assert words in done.stderr
    (folder / "out").mkdir()
    assert select("--ledger", "budget.db", "--once", "a", "--output", "out/top.json").exit_code == 5


def test_a_week_is_charged_and_shown(call: Call, folder: Path) -> None:
    """`create` says both budgets, `select` says what is left of both, and the codes are those of every ledger."""
    zone = ("--time-zone", "Europe/Berlin")
    made = call("ledger", "create", "budget.db", "--per", "week", "--epsilon", "1", "--total-epsilon", "3/2", *zone)
    assert "in each week (Europe/Berlin), 1-DP for one person-week" in made.stderr
    assert "in total: 1.5-DP for one person, " in made.stderr
    plays = [f"{user},track 0{user % 3},2025-11-{3 + user % 14:02}" for user in range(400)]
    (folder / "plays.csv").write_text("\n".join(["user_id,track,day", *plays]) + "\n")
    votes = ("select", "plays.csv", "--person", "user_id", "--item", "track", "--domain", "catalogue.csv", "-k", "2")
    asked = (
        *votes,
        "--time",
        "day",
        *zone,
        "--ledger",
        "budget.db",
        "--epsilon",
        "1",
        "--output",
        "top.json",
        "--force",
    )
    first = call(*asked, "--period", "2025-W45", "--once", "top 2025-W45")
    assert "left: of the budget of 2025-W45: epsilon 0; of the total budget: epsilon 0.5\n" in first.stderr
    codes = [
        call(*asked, "--period", "2025-W45", "--once", "top 2025-W45").exit_code,
        call(*asked, "--period", "2025-W45").exit_code,
        call(*asked, "--period", "2025-W46").exit_code,
        call(*asked, "--period", "2025-11").exit_code,
        call(*asked, "--period", "2999-W45").exit_code,
    ]
    assert (first.exit_code, codes) == (0, [5, 4, 4, 2, 2])
    assert "\n  about 2025-W45, auto, 1-DP" in call("ledger", "show", "budget.db").stdout
    counts = [
        call("ledger", "afford", "budget.db", "-k", "2", "--epsilon", "0.5", *more)
        for more in ((), ("--period", "2025-W45"), ("--period", "2025-11"))
    ]
    assert [each.stdout for each in counts] == ["1\n", "0\n", ""]
    assert "the budget of 2025-W45 is 1-DP for one person-week" in counts[1].stderr
    assert "--period must be a week, as in the ledger" in counts[2].stderr
    shown = call("ledger", "show", "budget.db", "--output", "ledger.json").output
    assert "2025-W45: spent epsilon 1; left epsilon 0\nTotal: 1.5-DP for one person" in shown
    assert json.loads((folder / "ledger.json").read_text())["charges"][0]["time"] == "day"


def test_quiet_keeps_warnings(select: Select, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge that could not be finished is said, also with --quiet."""
    ledger("create", "budget.db", "--epsilon", "1")
    do_before_finishing(monkeypatch, (folder / "budget.db").unlink)
    done = select("--ledger", "budget.db", "--output", "top.json", "--quiet")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("warning: the release is charged, but the ledger does not say that it was finished")


def test_each_accounting_says_what_is_left(select: Select) -> None:
    """A delta above the share of basic accounting leaves nothing there, and zCDP still covers releases."""
    ledger("create", "budget.db", "--epsilon", "10", "--delta", "1e-6")
    assert select("--ledger", "budget.db", "--mechanism", "cdp-peel", "--delta", "1e-6").exit_code == 0
    shown = " ".join(ledger("show", "budget.db").output.split())
    assert "Spent: epsilon 1, delta 1e-6, rho 0.0" in shown
    assert "Left: nothing by basic accounting, or rho 1.4" in shown
    assert "Limits: epsilon 10, delta 5e-7 by basic accounting, or rho 1.4" in shown


def test_a_budget_without_delta_says_so(select: Select) -> None:
    """A smaller epsilon would not help, so it is not advised."""
    ledger("create", "budget.db", "--epsilon", "10")
    done = select("--ledger", "budget.db", "--mechanism", "cdp-peel", "--delta", "1e-6")
    assert "the budget has no delta, so it covers no release with one: leave --delta out" in done.stderr


def test_the_environment_makes_a_ledger_mandatory(call: Call, folder: Path) -> None:
    """SHORTLIST_LEDGER charges a selection that names no ledger, and refuses it if there is none."""
    votes = ("select", "plays", "--person", "user_id", "--item", "track", "--domain", "catalogue.csv")
    asked = (*votes, "-k", "3", "--epsilon", "1")
    assert "SHORTLIST_LEDGER must name a ledger" in call(*asked, SHORTLIST_LEDGER="").stderr
    assert "No such file" in call(*asked, SHORTLIST_LEDGER="budget.db").stderr
    Ledger.create(folder / "budget.db", epsilon=1)
    assert call(*asked, SHORTLIST_LEDGER="budget.db").exit_code == 0
    assert "is left; this release needs" in call(*asked, SHORTLIST_LEDGER="budget.db").stderr


def test_a_seed_is_refused(select: Select, folder: Path) -> None:
    """A release that can be repeated is not charged."""
    ledger("create", "budget.db", "--epsilon", "1")
    done = select("--ledger", "budget.db", "--seed", "7", "--insecure")
    assert "must use secure randomness" in done.stderr
    assert not Ledger.open(folder / "budget.db").charges


@pytest.mark.parametrize("command", ["create", "show", "afford", "report"])
def test_help_ends_with_an_example_that_works(command: str, call: Call) -> None:
    """The last lines of every help can be copied into a shell."""
    shown = ledger(command, "--help").output
    example = [line.strip() for line in shown.partition("Example:")[2].splitlines() if line.strip()]
    assert example
    for line in "\n".join(example).replace("\\\n", "").splitlines():
        done = call(*shlex.split(line)[1:])
        assert done.exit_code == 0, done.stderr


def test_afford_takes_the_options_of_select(path: Path) -> None:
    """What a release needs depends on its mechanism and parameters, so `afford` reads the same ones."""
    ledger("create", path, "--epsilon", "10")
    for more in (
        ("--mechanism", "noisy-counts", "--votes-per-person", "3"),
        ("--unordered", "--votes-per-person", "3"),
        ("--sensitivity", "2", "--mechanism", "joint"),
    ):
        assert ledger("afford", path, "-k", "10", "--epsilon", "0.5", *more).output == "20\n", more
    assert ledger("afford", path, "-k", "10", "--rho", "1/32", "--mechanism", "joint").output == "20\n"
    both = ledger("afford", path, "-k", "10", "--rho", "1/32", "--epsilon", "1").stderr
    assert both.startswith("error: --epsilon and --rho must not both be given")
    assert "auto needs --epsilon, or --rho in its place" in ledger("afford", path, "-k", "10").stderr
    done = ledger("afford", path, "-k", "1", "--epsilon", "1", "--mechanism", "noisy-counts")
    assert "needs --votes-per-person" in done.stderr
    done = ledger("afford", path, "-k", "1", "--epsilon", "1", "--sensitivity", "0")
    assert "--sensitivity must be a whole number from 1" in done.stderr


def test_afford_counts_families(path: Path) -> None:
    """All lists of a family are one release. What it costs in rho depends on how many lists one person is in."""
    ledger("create", path, "--epsilon", "10", "--delta", "1e-6")
    asked = ("afford", path, "-k", "10", "--epsilon", "1", "--mechanism", "joint")
    one = ledger(*asked).output
    for more in (
        ("--groups-per-person", "8"),
        ("--votes-per-person", "8"),
        ("--by", "country,week", "--votes-per-person", "8"),
    ):
        eight = ledger(*asked, "--group-count", "216", *more).output
        assert int(eight) >= 8 * int(one), more
        assert ledger(*asked, "--by", "country", *more[-2:]).output == eight, more
        # A person is in no more lists than there are.
        assert ledger(*asked, "--group-count", "1", *more).output == one, more
    for more, words in (
        (("--groups-per-person", "8"), "--groups-per-person must go with --by"),
        (("--group-count", "8"), "--groups-per-person or --votes-per-person must be given with --by"),
        (("--group-count", "none", "--groups-per-person", "8"), "--group-count must be a whole number from 1"),
    ):
        assert words in ledger(*asked, *more).stderr, more


def test_afford_says_what_a_year_costs(path: Path) -> None:
    """What some equal releases promise together, and how many of them are covered."""
    ledger("create", path, "--epsilon", "10", "--delta", "1e-6")

    def ask(*more: str) -> str:
        return " ".join(ledger("afford", path, "-k", "10", *more).output.split())

    year = ask("--epsilon", "0.25", "--mechanism", "joint", "--times", "52")
    assert year.startswith("52 of these together: (4.64472202, 1e-6)-DP. Whether or not a given person")
    assert re.search(r"The budget covers all 52, and \d+ more\.$", year)
    assert "covers 51 of 52. The sum is within the budget, but" in ask("--epsilon", "0.5", "--times", "52")
    unlisted = ("--epsilon", "1", "--no-domain", "--times", "52", "--delta")
    assert "52 of these together: (7.63980994, 1e-6)-DP. " in ask(*unlisted, "1e-9")
    # The deltas that the lists cannot do without are more than the budget has.
    assert "52 of these together: (9." in ask(*unlisted, "1e-6")
    assert "2.7e-5)-DP. " in ask(*unlisted, "1e-6")
    assert ask(*unlisted, "1e-6").endswith("The budget covers 0 of 52.")
    for times, words in (("0", "must be a whole number from 1"), ("1000000", "must be at most 100000")):
        done = ledger("afford", path, "-k", "10", "--epsilon", "1", "--times", times)
        assert (done.exit_code, words in done.stderr) == (2, True), done.stderr
    ledger("create", path.with_name("pure.db"), "--epsilon", "1")
    pure = ledger("afford", path.with_name("pure.db"), "-k", "10", "--epsilon", "0.5", "--times", "2")
    assert "2 of these together: 1-DP. " in pure.output
    ledger("create", path.with_name("weeks.db"), "--epsilon", "1", "--per", "week")
    weeks = ledger("afford", path.with_name("weeks.db"), "-k", "10", "--epsilon", "0.5", "--times", "53").output
    assert "53 of these together: 26.5-DP. " in weeks
    assert "There is no total. The budget of each period covers 2 of these." in " ".join(weeks.split())


def test_afford_counts_releases_without_a_domain(path: Path) -> None:
    """--no-domain stands for a select without --domain; delta bounds the number of releases, too."""
    ledger("create", path, "--epsilon", "10", "--delta", "1e-5", "--accounting", "basic")
    asked = ("afford", path, "-k", "10", "--epsilon", "0.5", "--delta", "1e-6")
    for more in (
        (),
        ("--k-bar", "50"),
        ("--votes-per-person", "2"),
        ("--mechanism", "threshold", "--votes-per-person", "2", "--noise", "laplace"),
        ("--mechanism", "stable", "--unordered"),
    ):
        assert ledger(*asked, "--no-domain", *more).output == "10\n", more
    assert ledger(*asked, "--mechanism", "limited-domain", "--k-bar", "50").output == "10\n"
    for more, words in (
        (("--no-domain", "--noise", "laplace"), "auto chose limited-domain"),
        (("--no-domain", "--assess", "0.1"), "--assess must go with --domain"),
        (("--no-domain", "--mechanism", "joint"), "--mechanism must be one of limited-domain, threshold, stable"),
        (("--k-bar", "50"), "Hint: --k-bar is for --mechanism limited-domain"),
    ):
        done = ledger(*asked, *more)
        assert (done.exit_code, done.stdout) == (2, "")
        assert words in done.stderr, more
    done = ledger(*asked[:-2], "--no-domain")
    assert "--delta must go with --no-domain; it was not given.\nHint: try --delta 1e-6\n" in done.stderr
