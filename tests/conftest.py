"""What holds for every test: which tests share a worker, and which are fast."""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Each of these is started once. Tests that use it run on one worker, one after the other.
SHARED = ("spark", "postgres", "browser")

# Tests that used the processor for a fifth of a second or more, all parameters together. Measure with `--write-slow`.
SLOW = Path(__file__).with_name("slow.txt")
SLOW_SECONDS = 0.2
# Tests on all engines are slow together. On this engine they are fast, so that the fast tests see each of them.
FAST_ENGINE = "pyarrow"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, driven by Playwright."""
    from browser import open_browser

    with open_browser() as opened:
        yield opened


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests that share a component, and mark every test as slow or fast."""
    measured = set(SLOW.read_text(encoding="utf-8").split())
    for item in items:
        shared = shared_component(item)
        if shared is not None:
            item.add_marker(pytest.mark.xdist_group(shared))
        listed = name_of(item.nodeid) in measured and parameters_of(item).get("engine") != FAST_ENGINE
        if shared is not None or listed:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.fast)
    # Examples in documents take long and are collected last. At the end, one worker would wait for another.
    items.sort(key=lambda item: item.path.suffix != ".md")


def shared_component(item: pytest.Item) -> str | None:
    """Name the component that a test uses: by a fixture of that name, or by a parameter that begins with it."""
    values = [value for value in parameters_of(item).values() if isinstance(value, str)]
    for name in SHARED:
        if name in getattr(item, "fixturenames", ()) or any(value.startswith(name) for value in values):
            return name
    return None


def parameters_of(item: pytest.Item) -> dict[str, object]:
    """Take the parameters of a test by name."""
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}


def name_of(nodeid: str) -> str:
    """Take the name of a test without its parameters and its group."""
    return nodeid.partition("[")[0].partition("@")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that measures."""
    parser.addoption("--write-slow", action="store_true", help=f"write {SLOW.name}: which tests are slow")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in every worker, and add up on the process that gathers the reports."""
    if config.getoption("--write-slow"):
        config.pluginmanager.register(ProcessorTimes())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Stopwatch())


class ProcessorTimes:
    """Notes the processor time of each test and of the programs that it ran. It depends little on the machine's load.

    It is a plugin of its own, because the hooks of this file see the tests of this folder only, and no examples.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Append the seconds to the report."""
        before = self.read()
        try:
            return (yield)
        finally:
            item.user_properties.append(("processor seconds", self.read() - before))

    def read(self) -> float:
        """Read the processor seconds of this process and of those that it waited for."""
        programs = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + programs.ru_utime + programs.ru_stime


class Stopwatch:
    """Adds up how long each test took, writes the slow ones, and prints the slowest."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the call; fixtures are often shared with other tests."""
        if report.when == "call":
            self.seconds[name_of(report.nodeid)] += float(dict(report.user_properties)["processor seconds"])

    def pytest_sessionfinish(self) -> None:
        """Write the names of the slow tests. A test that did not run stays what it was."""
        before = set(SLOW.read_text(encoding="utf-8").split()) - self.seconds.keys()
        slow = before | {name for name, seconds in self.seconds.items() if seconds >= SLOW_SECONDS}
        SLOW.write_text("".join(f"{name}\n" for name in sorted(slow)), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the total, and the tests that took longest."""
        terminalreporter.section("processor seconds")
        fast = sum(seconds for seconds in self.seconds.values() if seconds < SLOW_SECONDS)
        terminalreporter.line(f"{sum(self.seconds.values()):8.1f} all tests, of which {fast:.1f} are fast")
        for name, seconds in sorted(self.seconds.items(), key=lambda each: -each[1])[:20]:
            terminalreporter.line(f"{seconds:8.1f} {name}")
