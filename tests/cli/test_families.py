"""`shortlist select --by`: one list for each group, in files, on the terminal, and read again."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ASKED = ("select", "plays.parquet", "--person", "user_id", "--item", "track", "--domain", "catalogue.csv", "-k", "3")


@pytest.fixture
def charts(folder):
    """Plays with a country and a week, and the public list of groups."""
    weeks, countries = ["2026-W02", "2026-W03"], [f"C{number}" for number in range(5)]
    rows = [
        (f"{country}{week}{person}", f"track {item:02d}", country, week)
        for country in countries
        for week in weeks
        for item in range(10)
        for person in range(40 - 4 * item)
    ]
    columns = zip(*rows, strict=True)
    names = ("user_id", "track", "country", "week")
    pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), folder / "plays.parquet")
    lines = ["country,week,people", *(f"{country},{week},900" for country in countries for week in weeks)]
    (folder / "groups.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def select(call, charts):
    def select(*more):
        groups = ("--by", "country,week", "--groups", "groups.csv", "--epsilon", "5")
        return call(*ASKED, *groups, *more)

    return select


def test_releases_one_list_for_each_group(select, charts):
    """The record and the CSV hold all lists, the table shows the first ones."""
    done = select("--groups-per-person", "8", "--votes-per-person", "20", "--output", "charts.json", "-o", "charts.csv")
    assert done.exit_code == 0, done.output
    stored = json.loads((charts / "charts.json").read_text())
    assert (stored["schema"], stored["by"]) == ("shortlist.family/1", ["country", "week"])
    assert [each["group"] for each in stored["lists"]][:2] == [["C0", "2026-W02"], ["C0", "2026-W03"]]
    rows = list(csv.DictReader((charts / "charts.csv").read_text().splitlines()))
    assert len(rows) == 30
    assert list(rows[0])[:4] == ["country", "week", "rank", "item"]
    assert "… and 4 more lists" in done.stdout
    assert "10 lists by country and week: the top 3 of 21 items in each" in " ".join(done.stdout.split())


def test_prints_every_list_that_no_file_keeps(select):
    """Without `--output`, what is not printed would be paid for and lost."""
    done = select("--groups-per-person", "8", "--votes-per-person", "20")
    assert done.exit_code == 0, done.output
    assert "more list" not in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.lstrip().startswith("C") and " track " in line]
    assert len(rows) == 30


def test_a_record_is_shown_explained_and_verified(select, call, charts):
    """Every command for records reads that of a family. It is one charge."""
    assert call("ledger", "create", "budget.db", "--epsilon", "10").exit_code == 0
    done = select("--votes-per-person", "5", "--ledger", "budget.db", "--output", "charts.json")
    assert done.exit_code == 0, done.output
    assert "charged to budget.db: 5-DP" in done.stderr
    shown = call("show", "charts.json")
    assert shown.stdout == done.stdout
    assert call("show", "charts.json", "--format", "json").stdout == (charts / "charts.json").read_text()
    assert "These 10 lists by country and week" in " ".join(call("explain", "charts.json").stdout.split())
    assert "is the release of charge 1" in " ".join(
        call("verify", "charts.json", "--ledger", "budget.db").stdout.split()
    )


def test_a_parquet_file_holds_the_record(select, call, charts):
    """It is read as the JSON is."""
    assert select("--groups-per-person", "1", "--output", "charts.parquet").exit_code == 0
    assert "10 lists" in call("show", "charts.parquet").stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "--groups-per-person or --votes-per-person must be given with --by"),
        (("--groups-per-person", "0"), "--groups-per-person"),
        (("--groups-per-person", "1", "--by", "week"), "name several columns in one: --by country,week"),
        (("--groups-per-person", "1", "--mechanism", "noisy-counts"), "--votes-per-person"),
    ],
    ids=repr,
)
def test_refuses_with_the_ways_out(select, more, words):
    """Errors name options, and say what to do."""
    done = select(*more)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


def test_a_period_that_is_no_column_is_made_of_times(call, charts):
    """The error for a missing column of months says how months are made of dates."""
    (charts / "months.csv").write_text("month\n2026-01\n")
    done = call(*ASKED, "--by", "month", "--groups", "months.csv", "--groups-per-person", "1", "--epsilon", "1")
    assert done.exit_code == 1
    assert "must have a column 'month'" in done.stderr
    assert "if the votes have a date or a time, pass --time, its column, and --every month" in done.stderr


def test_a_table_fits_a_narrow_terminal(select, monkeypatch):
    """If it would be too wide, columns stand closer together, and no word is broken."""
    monkeypatch.setenv("COLUMNS", "80")
    done = select("--people-epsilon", "4", "--groups-per-person", "1", "--counts-epsilon", "1")
    head = "country week rank item count low high people people_low people_high"
    assert head in [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    monkeypatch.setenv("COLUMNS", "72")
    done = select("--people-epsilon", "4", "--groups-per-person", "1", "--counts-epsilon", "1")
    above, head = done.stdout.splitlines()[1:3]
    assert (above.split(), head.split()[-2:]) == (["people_", "people_"], ["low", "high"])


def test_small_groups_have_no_list(select, call, charts):
    """A group with too few people stands in every output with its noisy number, and `show` and `explain` say so."""
    lines = (charts / "groups.csv").read_text()
    (charts / "groups.csv").write_text(f"{lines}nowhere,2026-W02\n".replace(",people", "").replace(",900", ""))
    asked = ("--people-epsilon", "4", "--min-people", "15", "--groups-per-person", "1")
    done = select(*asked, "--output", "charts.json", "--output", "charts.csv")
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader((charts / "charts.csv").read_text().splitlines()))
    assert (rows[-1]["country"], rows[-1]["rank"], rows[-1]["remark"]) == ("nowhere", "", "too few people")
    for text in (done.stdout, call("show", "charts.json").stdout, call("explain", "charts.json").stdout):
        assert "10 lists by country and week (1 of 11 groups has too few people)" in " ".join(text.split())
        assert "None" not in text
    assert json.loads((charts / "charts.json").read_text())["guarantee"]["epsilon"] == "9"
    wrong = select("--min-people", "15", "--groups-per-person", "1")
    assert (wrong.exit_code, "--min-people must go with --people-epsilon" in wrong.stderr) == (2, True)


def test_a_check_knows_groups(call, charts):
    """`check --by` says how many groups a person has, and which groups are nearly empty."""
    (charts / "groups.csv").write_text("country,week\nC0,2026-W02\nXX,2026-W02\n")
    asked = ASKED[1:-2]
    done = call("check", *asked, "--by", "country,week", "--groups", "groups.csv", "--output", "check.json")
    assert done.exit_code == 0, done.output
    family = json.loads((charts / "check.json").read_text())["family"]
    assert family["groups"] == [["C0, 2026-W02", 40, 220], ["XX, 2026-W02", 0, 0]]
    assert family["groups_per_person"][-1] == [1.0, 1]
    assert (family["not_listed"], family["outside_time"]) == (9 * 220, 0)
    done = call("check", *asked, "--every", "week", "--output", "other.txt")
    assert (done.exit_code, "--every must go with --time" in done.output) == (2, True)
