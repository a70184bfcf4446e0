"""The report in a real browser: on a phone, on a desk, and by itself."""

import pytest
from browser import open_page

WIDTHS = (390, 1400)


@pytest.fixture(scope="module", params=WIDTHS)
def opened(request, browser, report):
    """The report, loaded once at each width: what a test unfolds or sorts changes nothing that others look at."""
    with open_page(browser, report, width=request.param) as opened:
        yield opened


def test_it_loads_without_complaints_and_without_network(opened, report):
    """No error or warning in the console; nothing is asked for but the page itself."""
    assert opened.complaints == []
    assert opened.requests == [report.as_uri()]


def test_every_figure_is_visible(opened):
    """Each picture is decoded, has a size on the page and says what it shows."""
    pictures = opened.value(
        "[...document.querySelectorAll('main img')].map(each => ("
        "{natural: each.naturalWidth, width: each.getBoundingClientRect().width,"
        " right: each.getBoundingClientRect().right, alt: each.alt, complete: each.complete}))"
    )
    # Three sweeps of six panels, speed-ups, three panels without the sequence step, three of what to use today, and the
    # gaps: for two data sets. One panel has one list of both.
    assert len(pictures) == 2 * (18 + 1 + 3 + 3 + 1) + 1
    width = opened.value("innerWidth")
    for each in pictures:
        assert each["complete"]
        assert each["natural"] > 0
        assert each["width"] > 250
        assert each["right"] <= width
        assert each["alt"]


def test_nothing_overflows(opened):
    """The page is as wide as the window, also with every table unfolded; wide tables scroll by themselves."""
    opened.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert opened.value("document.documentElement.scrollWidth") <= opened.value("innerWidth")
    outside = opened.value(
        "[...document.querySelectorAll('body *')].filter(each => !each.closest('.wide') || each.matches('.wide'))"
        ".filter(each => each.getBoundingClientRect().right > innerWidth + 0.5).map(each => each.outerHTML)"
    )
    assert outside == []


def test_a_touch_on_a_head_sorts(opened):
    """Once rising, twice falling; numbers by value, words by letter; other tables stay."""
    opened.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    phone = opened.page.viewport_size["width"] < 600
    tables = opened.page.locator("details")

    def column(index):
        cells = tables.first.locator(f"tbody tr td:nth-child({index + 1})")
        return cells.evaluate_all("cells => cells.map(each => each.dataset.value)")

    def touch(index):
        head = tables.first.locator("th button").nth(index)
        head.tap() if phone else head.click()

    before = column(1)
    other = tables.nth(1).text_content()
    touch(1)
    assert [float(each) for each in column(1)] == sorted(map(float, before))
    touch(1)
    assert [float(each) for each in column(1)] == sorted(map(float, before), reverse=True)
    touch(0)
    labels = column(0)
    assert labels == opened.value(f"{labels}.sort((one, other) => one.localeCompare(other))")
    assert tables.first.locator("th").first.get_attribute("aria-sort") == "ascending"
    assert tables.nth(1).text_content() == other


def test_what_must_be_said_is_said(opened):
    """Stand-ins, repeats and failures are named; markup in a failure stays text."""
    text = opened.value(
        "document.querySelectorAll('details').forEach(each => each.open = true); document.body.innerText"
    )
    assert "books (stand-in)" in text
    assert "8 of 45" in text  # lists with a repeated item
    assert "Holm’s method" in text
    assert "Errata of the paper" in text
    assert "Threats to validity" in text
    assert "MemoryError: <b>too large</b>" in text
    assert "2 cores" in text
    assert "not tested here" in text or "not decided" in text


def test_a_touch_on_a_figure_enlarges_it(opened):
    """In a window of its own, which closes again."""
    opened.value("document.querySelector('button.zoom').click()")
    assert opened.value("document.getElementById('large').open")
    assert opened.value("document.querySelector('#large img').naturalWidth") > 0
    opened.value("document.getElementById('large').close()")
    assert not opened.value("document.getElementById('large').open")


def test_the_links_at_the_top_lead_somewhere(opened):
    """Each names a part of the page."""
    targets = opened.value("[...document.querySelectorAll('nav a')].map(each => each.getAttribute('href'))")
    assert len(targets) > 5
    assert all(opened.value(f"document.querySelector('{target}') !== null") for target in targets)


def test_numbers_are_aligned_to_the_right(opened):
    """In the tables, and their heads as well."""
    aligned = opened.value("[...document.querySelectorAll('.number')].map(each => getComputedStyle(each).textAlign)")
    assert set(aligned) == {"right"}


def test_it_can_be_printed(browser, report):
    """The print is a PDF of some pages, with the verdict as a table."""
    with open_page(browser, report, width=1400) as opened:
        assert opened.page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
        opened.page.emulate_media(media="print")
        assert opened.value("getComputedStyle(document.querySelector('.cards tr')).display") == "table-row"


def test_the_browser_notices_complaints_and_requests(browser, tmp_path):
    """A page that warns, throws and asks for a picture is seen to do so: the checks above can fail."""
    path = tmp_path / "bad.html"
    path.write_text("<script>console.warn('careful'); absent()</script><img src='http://127.0.0.1:9/picture.png'>")
    with open_page(browser, path, width=390) as opened:
        said = " ".join(opened.complaints)
        assert "careful" in said
        assert "absent is not defined" in said
        assert opened.requests == [path.as_uri(), "http://127.0.0.1:9/picture.png"]
