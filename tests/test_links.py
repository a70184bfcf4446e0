"""Every link of the documentation leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "reproduction").glob("*.md")),
]


def links(page: Path) -> list[str]:
    """List the targets of a page's links and pictures, without addresses of other sites."""
    found: list[str] = re.findall(r"\]\(([^)\s]+)\)", strip_code(page))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """Name the headings of a page as links do: small letters, hyphens for spaces, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", strip_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def strip_code(page: Path) -> str:
    """Read a page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_resolves(page):
    """The file exists, and so does the heading that the link names."""
    for target in links(page):
        path, _, anchor = target.partition("#")
        aim = page.parent / path if path else page
        assert aim.exists(), target
        assert not anchor or anchor in anchors(aim), target


def test_the_test_of_links_can_fail(tmp_path):
    """Links to other sites are left out, and headings are named as a browser finds them."""
    page = tmp_path / "page.md"
    page.write_text("# What `auto` does?\n[a](b.md#c) [d](https://e.org) ![f](g.png)\n```\n# no [h](i)\n```\n")
    assert links(page) == ["b.md#c", "g.png"]
    assert anchors(page) == {"what-auto-does"}
