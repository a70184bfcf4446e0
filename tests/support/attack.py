"""Calls with wrong and hostile arguments: each ends in a right answer, or in an error of the library without data."""

from __future__ import annotations

import copy
import json
import random
import signal
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import attack_more
import pandas as pd
import pyarrow as pa
from hostile_values import COUNTS, NUMBERS, SECRET, SECRET_COUNT, SIZES, TEXTS, make_folder, write
from typer.testing import CliRunner

import shortlist
from shortlist import Guarantee, Ledger, Query, Release
from shortlist.cli.app import app
from shortlist.errors import ShortlistError
from shortlist.mechanisms import MECHANISMS, Joint, build_mechanism

PATIENCE = 60
WEIGHTS = {"top_k": 35, "bought": 12, "compose": 15, "from_json": 15, "ledger": 10, "select": 5, "check": 2}
WEIGHTS |= {"unlisted": 3, "plan": 1, "audit": 1, "command": 1}
OPTIONS = ["delta", "beta", "ordered", "votes_per_person", "calibration", "at_least", "rho", "neighbours", "nonsense"]


class TooSlowError(Exception):
    """A call did not end."""


class Calm(random.Random):
    """A generator that makes no call hostile: nothing rare happens, and the first of several values is chosen."""

    def random(self) -> float:
        return 0.999

    def choice(self, values: Any) -> Any:
        return values[0]

    def sample(self, values: Any, count: int, *, counts: object = None) -> Any:
        return list(values)[:count]


@dataclass
class Attack:
    """Make calls, and collect those that end in neither of the two ways that are allowed."""

    folder: Path
    seed: int
    calls: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    calm: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.paths = make_folder(self.folder)
        self.record = json.loads(shortlist.prepare({"a": 5, SECRET: 3, "b": 1}, k=2, epsilon=1).release().to_json())
        self.budget = Ledger.create(self.folder / "ledger.db", epsilon=10**5, delta="1e-3")
        self.paths.append(str(self.budget.path))
        warnings.simplefilter("ignore")

    def run(self, calls: int) -> None:
        """Make so many calls, of all kinds."""
        kinds = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=calls)
        with chdir(self.folder):  # names without a folder become files there
            for kind in kinds:
                self.call(kind)

    def call_rightly(self, kind: str) -> None:
        """Make a call that has only usual arguments. It must have a right answer."""
        hostile, self.random, self.calm = self.random, Calm(self.seed), True
        try:
            self.call(kind)
        finally:
            self.random, self.calm = hostile, False

    def call(self, kind: str) -> None:
        """Make one call and judge how it ends."""
        self.calls[kind] += 1
        before = signal.signal(signal.SIGALRM, _stop)
        signal.alarm(PATIENCE)
        described: list[str] = []
        try:
            if hasattr(attack_more, kind):
                getattr(attack_more, kind)(self, described)
            else:
                getattr(self, kind)(described)
            self.answers[kind] += 1
        except ShortlistError as error:
            chain, texts = error, []
            while chain is not None:
                texts.append(f"{chain} {getattr(chain, 'values', '')}")
                # A record is published anyway: only the text that is shown must be short of it.
                chain = None if kind == "from_json" else chain.__cause__ or chain.__context__
            if any(SECRET in text or str(SECRET_COUNT) in text for text in texts):
                self.note(kind, "quotes data", described, error)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.note(kind, type(error).__name__, described, error)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    def note(self, kind: str, what: str, described: list[str], error: BaseException) -> None:
        """Keep one example of each failure, by the place where it was raised."""
        place = traceback.extract_tb(error.__traceback__)
        inside = [each for each in place if "/shortlist/" in each.filename]
        where = f"{Path(inside[-1].filename).name}:{inside[-1].lineno}" if inside else "?"
        self.failures.setdefault(f"{kind}: {what} at {where}", f"{' '.join(described)[:600]} -> {str(error)[:200]}")

    def pick(self, values: list[Any], usual: Any, *, chance: float = 0.5) -> Any:
        """Pick a usual value, or any of the values."""
        return usual if self.calm or self.random.random() < chance else self.random.choice(values)

    def options(self) -> dict[str, Any]:
        """Some parameters of mechanisms, wanted or not."""
        chosen = self.random.sample(OPTIONS, self.random.choice([0, 0, 1, 1, 2]))
        return {name: self.random.choice([*NUMBERS, *SIZES, *TEXTS, "optimal"]) for name in chosen}

    def mechanism(self) -> Any:
        name = self.pick([*TEXTS, "laplace", "gamma"], self.random.choice(list(MECHANISMS)), chance=0.9)
        return Joint(k=2, epsilon=1) if self.random.random() < 0.03 else name

    def top_k(self, described: list[str]) -> None:
        counts = self.pick(COUNTS, {"a": 5, "b": 3, "c": 1, "d": 0}, chance=0.4)
        given = {
            "k": self.pick(SIZES, 2, chance=0.7),
            self.random.choice(["epsilon", "epsilon", "rho"]): self.pick(NUMBERS, 1, chance=0.7),
            "mechanism": self.mechanism(),
            **self.options(),
        }
        described.append(f"top_k({write(counts)}, {write(given)})")
        verb = self.random.choice([shortlist.top_k, lambda *a, **b: shortlist.prepare(*a, **b).release().items])
        chosen = list(verb(counts, **given))
        if given["k"] is None:  # the mechanism object has one
            given["k"] = 2
        size = given["k"] if not isinstance(given["k"], tuple | list) else given["k"][1]
        assert len(chosen) <= int(size), "too many items"
        assert len(chosen) == len(
            {id(each) if isinstance(each, list) else repr(each) for each in chosen}
        ) or isinstance(counts, pd.Series)

    def compose(self, described: list[str]) -> None:
        parts: list[Any] = []
        for _ in range(self.random.choice([1, 0, 2, 3])):
            if self.random.random() < 0.8:
                given: dict[str, Any] = {"epsilon": self.pick(NUMBERS, 1)}
                for name in self.random.sample(["delta", "rho", "neighbours", "unit"], self.random.choice([0, 1, 2])):
                    given[name] = self.random.choice(NUMBERS if name in ("delta", "rho") else TEXTS)
                described.append(f"Guarantee({write(given)})")
                parts.append(Guarantee(**given))
            else:
                parts.append(self.pick([*NUMBERS, *TEXTS], Joint(k=2, epsilon=1)))
        whole = self.pick([*NUMBERS, *TEXTS, {}, parts[:1] and parts[0]], parts, chance=0.9)
        delta = self.pick(NUMBERS, None)
        described.append(f"compose({write(whole)}, delta={write(delta)})")
        stated = shortlist.compose(whole, delta=delta)
        assert isinstance(stated, Guarantee)
        str(stated)

    def from_json(self, described: list[str]) -> None:
        text: Any = json.dumps(self.edit(json.loads(json.dumps(self.record))))
        for _ in range(self.random.choice([0, 0, 1])):
            place = self.random.randrange(len(text))
            text = self.random.choice(
                [text[:place], text[:place] + self.random.choice('{}[]",:0\0e9') + text[place + 1 :]]
            )
        source = self.pick([*self.paths, *TEXTS, *NUMBERS], text, chance=0.9)
        if self.random.random() < 0.1:
            path = self.folder / "record.json"
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
            source = path
        described.append(f"from_json({write(source)})")
        release = Release.from_json(source)
        assert Release.from_json(release.to_json()) == release
        str(release)

    def edit(self, record: Any) -> Any:
        """Change, remove or add a few values, anywhere in a record."""
        for _ in range(self.random.choice([0, 1, 1, 2])):
            place: Any = record
            while True:
                keys = list(place) if isinstance(place, dict) else list(range(len(place)))
                if not keys:
                    break
                key = self.random.choice(keys)
                if isinstance(place[key], dict | list) and place[key] and self.random.random() < 0.7:
                    place = place[key]
                    continue
                if self.random.random() < 0.2:
                    del place[key]
                else:
                    place[key] = copy.deepcopy(self.random.choice(_JSON))
                break
        return record

    def open_ledger(self, described: list[str]) -> Ledger:
        path = self.pick([*self.paths, *TEXTS, *NUMBERS], self.budget.path, chance=0.7)
        timeout = self.pick(NUMBERS, 1, chance=0.9)
        described.append(f"Ledger.open({write(path)}, timeout={write(timeout)})")
        return Ledger.open(path, timeout=timeout)

    def ledger_create(self, described: list[str]) -> None:
        given: dict[str, Any] = {"epsilon": self.pick(NUMBERS, 1), "delta": self.pick(NUMBERS, 0)}
        for name in self.random.sample(
            ["accounting", "neighbours", "unit", "population", "basic_share"], self.random.choice([0, 1, 2])
        ):
            given[name] = self.random.choice([*TEXTS, *NUMBERS, "basic", "zcdp", "both"])
        path = self.pick([*self.paths, *TEXTS], self.folder / f"new{self.random.randrange(10**9)}.db", chance=0.8)
        if isinstance(path, str) and "/" not in path:
            path = self.folder / "x" / path if path.isprintable() else self.folder / "x"
        described.append(f"Ledger.create({write(path)}, {write(given)})")
        made = Ledger.create(path, **given)
        assert made.left.epsilon is None or made.left.epsilon > 0
        made.path.unlink()

    def ledger(self, described: list[str]) -> None:
        (self.charge if self.random.random() < 0.7 else self.ledger_create)(described)

    def charge(self, described: list[str]) -> None:
        ledger = self.open_ledger(described)
        name = self.random.choice(list(MECHANISMS))
        made = build_mechanism(name, **_needed(name), epsilon=self.pick(NUMBERS, 1))
        release: Any = self.pick([*NUMBERS, *TEXTS, made.guarantee], made, chance=0.8)
        note = self.pick(TEXTS, None)
        described.append(f"charge({write(release)}, note={write(note)})")
        if self.random.random() < 0.5:
            assert ledger.afford(release) >= 0
        else:
            before = ledger.spent
            ledger.check(release)
            assert ledger.spent == before
            ledger.charge(release, note=note)
            assert ledger.spent.epsilon > before.epsilon

    def votes(self, described: list[str]) -> dict[str, Any]:
        """Where votes and the domain are, and which columns hold them."""
        frame = {"user": [1, 2, 3, 3, None], "track": ["a", "b", SECRET, "a", "c"]}
        odd = {"user": self.random.choices(NUMBERS, k=5), "track": self.random.choices([*TEXTS, *NUMBERS], k=5)}
        sources: list[Any] = [
            frame,
            odd,
            pd.DataFrame(frame),
            pa.table(frame),
            {"user": [1], "track": []},
            {},
            *NUMBERS[:20],
        ]
        query = self.random.choice(
            ["SELECT * FROM votes", "SELECT", "", "DROP TABLE votes", "SELECT 1; SELECT 2", "\0"]
        )
        sources.append(Query(self.pick([*self.paths, *TEXTS], str(self.folder / "other.db")), query))
        votes = self.random.choice(self.paths) if self.random.random() < 0.4 else self.pick(sources, frame)
        domains: list[Any] = [
            *self.paths,
            [],
            {},
            None,
            "",
            [None],
            [1, "a"],
            pd.Series(["a"]),
            *NUMBERS[:30],
            [SECRET] * 3,
        ]
        return {
            "votes": votes,
            "person": self.pick(TEXTS, "user", chance=0.8),
            "item": self.pick(TEXTS, "track", chance=0.8),
            "domain": self.pick(domains, ["a", "b", "c"], chance=0.7),
            "domain_column": self.pick(TEXTS, None, chance=0.9),
            "memory_limit": self.pick([*TEXTS, *NUMBERS], None, chance=0.9),
        }

    def select(self, described: list[str]) -> None:
        given = self.votes(described)
        given |= {"k": self.pick(SIZES, 2, chance=0.8), "epsilon": self.pick(NUMBERS, 1, chance=0.8)}
        given |= {"mechanism": self.pick(TEXTS, "auto", chance=0.9)} | (
            self.options() if self.random.random() < 0.3 else {}
        )
        if self.random.random() < 0.1:
            given |= {"count": self.random.choice(TEXTS), "sensitivity": self.random.choice(SIZES), "person": None}
        if self.random.random() < 0.1:
            given |= {"ledger": self.random.choice(self.paths), "note": self.random.choice(TEXTS)}
        if self.random.random() < 0.2:
            given |= self.changing()
        described.append(f"select({write(given)})")
        release = shortlist.select(**given)
        assert len(set(map(repr, release.items))) == len(release.items)
        assert Release.from_json(release.to_json()) == release

    def changing(self) -> dict[str, Any]:
        """A file that is swapped, cut or grows while it is read."""
        path = self.folder / "changing.csv"
        rows = "user,track\n" + "".join(f"{n},{'ab'[n % 2]}\n" for n in range(2000))
        path.write_text(rows)
        change: Callable[[], object] = self.random.choice(
            [
                lambda: path.write_text(rows + rows),
                lambda: path.write_text(rows[:100]),
                lambda: path.write_text(""),
                lambda: path.unlink(missing_ok=True),
                lambda: path.write_text("track,user\n" * 50),
            ]
        )
        return {"votes": str(path), "domain": ["a", "b"], "progress": lambda step: change()}

    def check(self, described: list[str]) -> None:
        given = self.votes(described) | {"show_values": self.pick(NUMBERS, False, chance=0.8)}
        described.append(f"check({write(given)})")
        str(shortlist.check(**given))

    def command(self, described: list[str]) -> None:
        arguments = self.arguments()
        described.append(f"shortlist {arguments!r}")
        ran = CliRunner().invoke(app, arguments)
        self.judge(ran.exit_code, ran.output, arguments)

    def process(self, described: list[str]) -> None:
        """Run the command line as a process of its own; arguments that no process can have are left out."""
        arguments = [each.replace("\0", "")[:100_000] for each in self.arguments() if each.isprintable() or not each]
        described.append(f"process {arguments!r}")
        ran = subprocess.run(
            [sys.executable, "-m", "shortlist", *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
        )
        self.judge(ran.returncode, ran.stdout + ran.stderr if ran.returncode else "", arguments)

    def judge(self, code: int, output: str, arguments: list[str]) -> None:
        assert code in ((0,) if self.calm else (0, 1, 2, 3)), f"exit code {code}"
        assert "unexpected" not in output, output[:300]
        assert "Traceback" not in output
        assert not code or SECRET not in output or SECRET in "".join(arguments), "quotes data"

    def arguments(self) -> list[str]:
        if self.random.random() < 0.3:
            return attack_more.further_arguments(self)
        given = {
            "--person": "user",
            "--item": "track",
            "-k": "2",
            "--epsilon": "1",
            "--domain": str(self.folder / "domain.csv"),
        }
        texts = [each for each in (*TEXTS, *NUMBERS, *SIZES) if isinstance(each, str)]
        more = [
            "--delta",
            "--beta",
            "--mechanism",
            "--neighbours",
            "--unit",
            "--ledger",
            "--note",
            "--memory-limit",
            "--format",
        ]
        more += [
            "--encoding",
            "--delimiter",
            "--domain-column",
            "--votes-per-person",
            "--sql",
            "--database",
            "--domain-sql",
        ]
        for name in self.random.sample([*given, *more], self.random.choice([0, 1, 2])):
            given[name] = self.random.choice([*texts, *self.paths])
        flags = self.random.sample(
            ["--quiet", "--unordered", "--no-header", "--nonsense"], self.random.choice([0, 0, 1])
        )
        words = ["select", self.pick(self.paths, str(self.folder / "votes.csv"))]
        if self.random.random() < 0.3:
            words = ["ledger", self.random.choice(["show", "afford", "nonsense"]), self.random.choice(self.paths)]
            given = {name: given[name] for name in ("-k", "--epsilon")} if words[1] == "afford" else {}
        return [*words, *(each for pair in given.items() for each in pair), *flags]


_JSON: list[Any] = [
    *(None, True, 0, -1, 2, 3, 0.5, 1e308, 2**63, 10**40, [], {}, [[]], {"a": []}, [SECRET, SECRET]),
    *("", "a", SECRET, "1/0", "nan", "1e999", "replace", "9" * 5000, "\0", "joint", "auto", "2024-02-30"),
]


def _needed(name: str) -> dict[str, Any]:
    more = {"cdp-peel": {"delta": "1e-6"}, "noisy-counts": {"votes_per_person": 2}}
    return {"k": 2, **more.get(name, {})}


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooSlowError
