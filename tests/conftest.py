"""What holds for every test: which tests share a worker, and which are fast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Each of these is started once. Tests that use it run on one worker, one after the other. Those of the slowest begin
# first, because at the end of the run all other workers would wait for them.
SHARED = ("spark", "postgres", "browser")

# How fast the machine is decides no test.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Fixtures that start a program.
PROGRAMS = {"run", "installed", "built", "clean"}

# Fixtures that take seconds. Tests of a file that use them run on one worker, so they are made once.
MADE_ONCE = {"built", "clean", "complaints", "files", "installed", "made", "stand_in_results", "suite"}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, driven by Playwright."""
    from browser import open_browser

    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server that lives as long as the tests."""
    from postgres_server import postgres_server

    with postgres_server() as server:
        yield server.address


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests that share a component, and mark as fast what is not slow.

    Slow are tests with the mark `slow`, tests that need a component or start a program, examples in documents, and all
    cases of a test but the first. So the fast tests see every part of the source.
    """
    seen: set[str] = set()
    order: dict[pytest.Item, tuple[int, bool]] = {}
    for item in items:
        shared, fixtures = find_component(item), set(getattr(item, "fixturenames", ()))
        file, *classes, _ = item.nodeid.split("::")
        if shared is not None:
            item.add_marker(pytest.mark.xdist_group(shared))
        elif classes or MADE_ONCE & fixtures:  # the tests of a class compute laws and draws for each other
            item.add_marker(pytest.mark.xdist_group("::".join([file, *classes])))
        starts_program = PROGRAMS & fixtures or item.path.suffix == ".md"
        slow = shared is not None or starts_program or item.get_closest_marker("slow") is not None
        name = item.nodeid.partition("[")[0]
        if not slow and name not in seen:
            item.add_marker(pytest.mark.fast)
            seen.add(name)
        # What is short comes last, so that all workers end at about the same time.
        order[item] = (len(SHARED) if shared is None else SHARED.index(shared), not slow)
    items.sort(key=order.__getitem__)


def find_component(item: pytest.Item) -> str | None:
    """Find the component that a test uses: by a fixture of that name, or by a parameter that begins with it."""
    callspec = getattr(item, "callspec", None)
    values = [value for value in callspec.params.values() if isinstance(value, str)] if callspec else []
    for name in SHARED:
        if name in getattr(item, "fixturenames", ()) or any(value.startswith(name) for value in values):
            return name
    return None
