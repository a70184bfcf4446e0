"""A page in the system's Chromium, and what it complained about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components import find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

_OPTIONS = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the system's Chromium without a window."""
    from playwright.sync_api import sync_playwright

    # Chromium refuses its sandbox to root.
    options = [*_OPTIONS, "--no-sandbox"] if os.geteuid() == 0 else _OPTIONS
    program = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A page that was loaded, with every complaint and every request since."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    """Exceptions, and errors and warnings of the console."""
    requests: list[str] = field(default_factory=list)
    """The addresses that the page asked for, without those that hold their own data."""

    def value(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        return self.page.evaluate(expression)


@contextmanager
def open_page(browser: Browser, path: Path, *, width: int, height: int = 900) -> Iterator[Opened]:
    """Load a file in a window of that width; below 600 pixels it is a phone, with touch."""
    phone = width < 600
    context = browser.new_context(viewport={"width": width, "height": height}, is_mobile=phone, has_touch=phone)
    opened = Opened(page=context.new_page())

    def note_message(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            opened.complaints.append(message.text)

    opened.page.on("console", note_message)
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.on("request", lambda sent: opened.requests.append(sent.url))
    opened.page.goto(path.as_uri())
    opened.requests[:] = [address for address in opened.requests if not address.startswith("data:")]
    yield opened
    context.close()
