"""The jobs of docs/weekly.md run as they are written: the script for cron, and the commands of the DAG for Airflow."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shortlist import Ledger, ReleaseFamily

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "weekly.md"
NAMES = ["charts-2025-W24.json", "set-2025-W24.json", "tracks-2025-W24.json"]


def read_block(language, beginning):
    """Read the block of the page in a language that begins like this."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if block.startswith(beginning)]
    return found


@pytest.fixture
def trial(tmp_path):
    """A folder with a log of June 2025, a catalogue, countries, and the ledger of the page."""
    columns = {
        "user_id": list(range(2400)),
        "track": [f"t{user % 97 % 20}" for user in range(2400)],
        "country": ["DE" if user % 3 else "FR" for user in range(2400)],
        "played_at": [f"2025-06-{9 + user % 14:02} 12:00:00" for user in range(2400)],
    }
    table = pa.table(columns)
    moments = table["played_at"].cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    pq.write_table(table.set_column(3, "played_at", moments), tmp_path / "plays.parquet")
    (tmp_path / "catalogue.csv").write_text("track\n" + "".join(f"t{item}\n" for item in range(20)))
    (tmp_path / "countries.csv").write_text("country\nDE\nFR\n")
    Ledger.create(
        tmp_path / "weeks.db",
        per="week",
        epsilon=1,
        delta="1e-7",
        total_epsilon=12,
        time_zone="Europe/Berlin",
    )
    return tmp_path


def run(folder, *command, program=None):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [*command], input=program, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )


def test_the_script_for_cron_runs_as_often_as_it_likes(trial):
    """Three lists are made. A second run is free and prints nothing, and a run without a budget alerts."""
    (trial / "weekly.sh").write_text(read_block("bash", "#!/bin/bash"))
    first = run(trial, "bash", "weekly.sh", "2025-W24")
    assert (first.returncode, first.stdout, first.stderr) == (0, "", "")
    ledger = Ledger.open(trial / "weeks.db")
    assert [charge.once for charge in ledger.charges] == ["tracks 2025-W24", "set 2025-W24", "charts 2025-W24"]
    assert float(ledger.spent_in("2025-W24").epsilon) == 0.75
    made = {name: (trial / name).read_bytes() for name in NAMES}
    assert len(ReleaseFamily.from_json(trial / NAMES[0]).lists) == 2
    (trial / NAMES[0]).unlink()
    again = run(trial, "bash", "weekly.sh", "2025-W24")
    assert (again.returncode, again.stdout) == (0, "")
    assert {name: (trial / name).read_bytes() for name in NAMES} == made
    assert len(ledger.charges) == 3


def test_the_script_for_cron_alerts_by_exit_code(trial):
    """A used budget, and a week that is not over. The script ends with the exit code."""
    script = read_block("bash", "#!/bin/bash")
    # One list is enough to see it.
    (trial / "weekly.sh").write_text(re.sub(r"^release (set|charts) .*\n", "", script, flags=re.MULTILINE))
    soon = run(trial, "bash", "weekly.sh", "2999-W24")
    assert (soon.returncode, "ALERT: tracks of 2999-W24 cannot be made" in soon.stdout) == (2, True)
    assert "must have ended" in soon.stderr
    from shortlist.mechanisms import Joint

    Ledger.open(trial / "weeks.db").charge(Joint(k=1, epsilon=1), period="2025-W24")
    used = run(trial, "bash", "weekly.sh", "2025-W24")
    assert (used.returncode, "ALERT: the budget does not cover tracks of 2025-W24" in used.stdout) == (4, True)


def test_the_commands_of_the_dag_run(trial):
    """The file is Python. Each of its commands makes its list, and a repetition is a success."""
    program = ast.parse(read_block("python", "from datetime import datetime, timedelta\n\nfrom airflow"))
    values = {each.targets[0].id: ast.literal_eval(each.value) for each in program.body if isinstance(each, ast.Assign)}
    assert "data_interval_end" in values["WEEK"]
    command = values["RELEASE"].replace("/srv/charts", str(trial))
    for name, options in values["LISTS"].items():
        assert run(trial, "bash", "-c", command.format(name=name, week="2025-W24", options=options)).returncode == 0
    again = command.format(name="tracks", week="2025-W24", options=values["LISTS"]["tracks"])
    assert run(trial, "bash", "-c", again).returncode == 0
    assert sorted(each.name for each in trial.glob("*2025*")) == NAMES
    assert len(Ledger.open(trial / "weeks.db").charges) == 3
