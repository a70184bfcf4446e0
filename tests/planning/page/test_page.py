"""The page of a plan in a real browser: on a phone, on a tablet, on a desk, and by itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from browser import open_page

import shortlist
from shortlist.planning import advice
from shortlist.planning import page as grid

WIDTHS = (390, 800, 1400)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page on counts whose names hold markup; ordered lists collapse at small epsilon."""
    path = tmp_path_factory.mktemp("page") / "plan.html"
    counts = {f"</script><b>item {i}</b>": int(n) for i, n in enumerate(20_000 / np.arange(10, 810))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "EPSILONS", tuple(Fraction(each) for each in ("0.1", "0.5", "5")))
        steps: list[str] = []
        made = shortlist.plan(counts, k=16, epsilon="0.5", draws=40, item="track")
        made.to_html(path, progress=steps.append)
        assert len(steps) == 12
        # A second page, without a catalogue and with a wish.
        patch.setattr(advice, "EPSILONS", tuple(Fraction(each) for each in ("0.5", "5")))
        options = {"delta": "1e-6", "votes_per_person": 3, "ordered": False, "without_domain": True}
        made = shortlist.plan(counts, k=16, epsilon="0.5", draws=40, want="exact 0.5", **options)
        made.to_html(path.with_name("no_domain.html"))
    return path


@pytest.fixture(params=WIDTHS)
def opened(request, browser, page):
    """The page, loaded at a width."""
    with open_page(browser, page, width=request.param) as opened:
        yield opened


@pytest.mark.parametrize(("draws", "expected"), [(7, 7), (300, 200)])
def test_it_draws_no_more_lists_than_the_plan(monkeypatch, draws, expected):
    """The number that the page states is the number that was drawn."""
    monkeypatch.setattr(grid, "EPSILONS", (Fraction(1),))
    data = grid.compute_grid(shortlist.plan([9, 5, 3], k=1, epsilon=1, draws=draws), lambda step: None)
    assert data["draws"] == expected
    rows = [row for cells in data["cells"] for cell in cells for row in cell["rows"].values()]
    assert {len(row["samples"]) for row in rows} == {min(expected, 20)}


def move(opened, slider, place):
    """Move a slider as a user does, and return what the page then shows."""
    opened.page.locator(f"#{slider}").fill(str(place))
    return read(opened)


def read(opened):
    shown = "['epsilon-value', 'size-value', 'choice', 'rule', 'command', 'odds', 'curve-recall', 'samples']"
    found = opened.value(f"Object.fromEntries({shown}.map(id => [id, document.getElementById(id).innerHTML]))")
    return {**found, "command": opened.page.locator("#command").text_content()}


def test_it_loads_without_complaints_and_without_network(opened, page):
    """No error or warning in the console, also after both sliders moved; nothing is asked for but the page itself."""
    for place in (0, 2):
        move(opened, "epsilon", place)
        move(opened, "size", place)
    assert opened.complaints == []
    assert opened.requests == [page.as_uri()]


def test_nothing_overflows(opened):
    """The page is as wide as the window. Wide tables scroll by themselves."""
    assert opened.value("document.documentElement.scrollWidth") <= opened.value("innerWidth")
    outside = opened.value(
        "[...document.querySelectorAll('body *')].filter(each => !each.closest('.wide') || each.matches('.wide'))"
        ".filter(each => each.getBoundingClientRect().right > innerWidth + 0.5).map(each => each.outerHTML)"
    )
    assert outside == []


def test_the_sliders_change_everything(browser, page):
    """Values, advice, rule, command, odds, curves and lists follow."""
    with open_page(browser, page, width=1400) as opened:
        start = read(opened)
        assert (start["epsilon-value"], start["size-value"]) == ("0.5", "16")
        assert "-k 16 --epsilon 0.5" in start["command"]
        assert "--item track" in start["command"]
        private = move(opened, "epsilon", 0)
        assert all(private[name] != start[name] for name in start.keys() - {"size-value"})
        assert "ε = 0.1" in private["rule"]
        assert "e^0.1 = 1.11" in private["odds"]
        short = move(opened, "size", 0)
        assert all(short[name] != private[name] for name in start.keys() - {"epsilon-value", "odds"})
        assert "-k 4 --epsilon 0.1" in short["command"]
        lines = opened.value(
            "[...document.querySelectorAll('#curve-recall g')].map(each => [each.dataset.mechanism,"
            " each.querySelector('polyline').getAttribute('points').split(' ').length])"
        )
        assert sorted(lines) == [[name, 3] for name in sorted(row["mechanism"] for row in MECHANISMS)]


MECHANISMS = shortlist.plan([9, 5, 3], k=1, epsilon=1, draws=1).table


def test_the_point_of_collapse_is_marked(browser, page):
    """Each mechanism with a bound that crosses the votes has a ring in each panel, with words for it."""
    with open_page(browser, page, width=1400) as opened:
        rings = opened.value("[...document.querySelectorAll('#curve-recall .collapse')].map(each => each.textContent)")
        assert any(text.startswith("joint collapses below ε = ") for text in rings)
        assert len(rings) >= 4
        for panel in ("exact", "largest"):
            assert opened.value(f"document.querySelectorAll('#curve-{panel} .collapse').length") == len(rings)


def test_twenty_lists_mark_wrong_items(browser, page):
    """Each list says how many items are right; wrong ones are marked by a sign, not by colour alone."""
    with open_page(browser, page, width=1400) as opened:
        move(opened, "epsilon", 0)
        opened.page.locator("#mechanism").select_option("joint")
        assert opened.value("document.querySelectorAll('#samples > li').length") == 20
        wrong = opened.value("[...document.querySelectorAll('#samples .wrong')].map(each => each.textContent)")
        assert wrong
        assert all(text.startswith("✗ ") for text in wrong)
        heads = opened.value("[...document.querySelectorAll('#samples h3')].map(each => each.textContent)")
        right = sum(int(head.split(": ")[1].split()[0]) for head in heads)
        assert right + len(wrong) == 20 * 16
        # The first ten places are shown, and the wrong ones after them, each with the number of its place.
        places = opened.value(
            "[...document.querySelectorAll('#samples > li:first-child ol li')].map(each => each.value)"
        )
        assert places[:10] == list(range(1, 11))
        assert places == sorted(places)
        # Names from data stay text.
        assert opened.value("document.querySelectorAll('#samples b').length") == 0
        assert "</script><b>item 0</b>" in opened.value("document.getElementById('samples').textContent")


def test_it_can_be_used_by_keyboard_and_screen_reader(browser, page):
    """Sliders have names and speak their values, the arrow keys move them, and advice is announced."""
    with open_page(browser, page, width=1400) as opened:
        opened.page.locator("#epsilon").focus()
        opened.page.keyboard.press("ArrowRight")
        assert read(opened)["epsilon-value"] == "5"
        assert opened.page.locator("#epsilon").get_attribute("aria-valuetext") == "epsilon 5"
        assert opened.page.get_by_role("slider", name="k, the length of the list").count() == 1
        assert opened.page.locator("[aria-live=polite] #choice").count() == 1
        assert opened.value("[...document.querySelectorAll('.panels svg')].every(each => each.querySelector('title'))")
        for _ in range(4):
            opened.page.keyboard.press("Tab")
        assert opened.value("document.activeElement.id") in {"copy", "mechanism", ""}


def test_colours_and_shapes_differ(browser, page):
    """A line is told apart by its colour and by its dashes or markers."""
    with open_page(browser, page, width=1400) as opened:
        looks = opened.value(
            "[...document.querySelectorAll('#legend li')].map(each => [each.textContent.trim(),"
            " each.querySelector('line').getAttribute('stroke'), each.querySelector('svg').lastChild.outerHTML])"
        )
        assert len({colour for _, colour, _ in looks}) == len(looks)
        assert len({marker for _, _, marker in looks}) == len(looks)


def test_a_row_of_the_table_is_a_block_on_a_phone(browser, page):
    """Nothing is cut off: every number has its name beside it, and screen readers still see a table."""
    with open_page(browser, page, width=390) as opened:
        cell = "document.querySelector('#table td:last-child')"
        assert opened.value(f"getComputedStyle({cell}, '::before').content") == '"releases"'
        assert opened.value(f"{cell}.getBoundingClientRect().right") <= 390
        assert opened.page.get_by_role("table").get_by_role("row").count() == len(MECHANISMS) + 1
        assert opened.page.get_by_role("columnheader", name="bound").count() == 1


def test_a_wish_and_a_missing_catalogue_are_shown(browser, page):
    """The smallest epsilon of each mechanism, for the k of the slider; lists may be empty; no domain is passed."""
    with open_page(browser, page, width=1400) as first:
        assert not first.page.locator("#wish").is_visible()
    with open_page(browser, page.with_name("no_domain.html"), width=390) as opened:
        assert opened.page.locator("#wish-answers li").count() == 3
        before = opened.page.locator("#wish").inner_text()
        assert "the exact list has a probability of 50 % or more" in before
        move(opened, "size", 0)
        assert opened.page.locator("#wish").inner_text() != before
        assert "no public list of items" in opened.page.locator("header").inner_text()
        assert "an item is released only if many people have it" in opened.page.locator("#rule").inner_text()
        command = opened.page.locator("#command").inner_text()
        assert "--votes-per-person 3" in command
        assert "--domain" not in command
        opened.page.locator("#mechanism").select_option("stable")
        move(opened, "epsilon", 0)
        assert "Nothing is listed." in opened.page.locator("#samples").inner_text()
        assert opened.complaints == []


def test_the_banner_says_that_it_is_not_private(opened):
    """On every width, as the first thing; invented counts give nothing away."""
    assert "NOT PRIVATE" in opened.page.locator(".banner").inner_text()
    assert opened.page.locator(".banner").bounding_box()["y"] < 40


def test_it_can_be_printed(browser, page):
    """The print is a PDF, without sliders and buttons."""
    with open_page(browser, page, width=1400) as opened:
        assert opened.page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
        opened.page.emulate_media(media="print")
        assert not opened.page.locator("#epsilon").is_visible()
        assert opened.page.locator("#epsilon-value").is_visible()
