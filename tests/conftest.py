"""What holds for every test: which tests share a worker, and which are fast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Each of these is started once. Tests that use it run on one worker, one after the other.
SHARED = ("spark", "postgres", "browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, driven by Playwright."""
    from browser import open_browser

    with open_browser() as opened:
        yield opened


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests that share a component, and mark every test that is not slow as fast."""
    for item in items:
        shared = shared_component(item)
        if shared is not None:
            item.add_marker(pytest.mark.xdist_group(shared))
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.fast)


def shared_component(item: pytest.Item) -> str | None:
    """Name the component that a test uses: by a fixture of that name, or by a parameter that begins with it."""
    callspec = getattr(item, "callspec", None)
    values = [value for value in callspec.params.values() if isinstance(value, str)] if callspec else []
    for name in SHARED:
        if name in getattr(item, "fixturenames", ()) or any(value.startswith(name) for value in values):
            return name
    return None
