"""The report in a real browser: on a phone, on a desk, and by itself."""

import pytest

WIDTHS = (390, 1400)


@pytest.fixture(params=WIDTHS)
def opened(request, browser, report):
    """The report, loaded at a width."""
    browser.open(report, width=request.param)
    return browser


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
    # Three sweeps of six panels, speed-ups, three panels without the sequence step, and the gaps: for two data sets.
    assert len(pictures) == 2 * (18 + 1 + 3 + 1)
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
    shown = "[...document.querySelectorAll('details')][0].querySelectorAll('tbody tr td:nth-child(COLUMN)')"
    head = "[...document.querySelectorAll('details')][0].querySelectorAll('th button')[INDEX]"

    def column(index):
        return opened.value(f"[...{shown.replace('COLUMN', str(index + 1))}].map(each => each.dataset.value)")

    def touch(index):
        place = opened.value(
            f"(() => {{ const head = {head.replace('INDEX', str(index))}; head.scrollIntoView({{block: 'center', "
            "inline: 'center'}); const at = head.getBoundingClientRect(); "
            "return [at.x + at.width / 2, at.y + at.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            opened.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    before = column(1)
    other = opened.value("[...document.querySelectorAll('details')][1].textContent")
    touch(1)
    assert [float(each) for each in column(1)] == sorted(map(float, before))
    touch(1)
    assert [float(each) for each in column(1)] == sorted(map(float, before), reverse=True)
    touch(0)
    labels = column(0)
    assert labels == opened.value(f"{labels}.sort((one, other) => one.localeCompare(other))")
    sorts = opened.value("[...document.querySelectorAll('details')][0].querySelectorAll('th')[0].ariaSort")
    assert sorts == "ascending"
    assert opened.value("[...document.querySelectorAll('details')][1].textContent") == other


def test_what_must_be_said_is_said(opened):
    """Stand-ins, repeats and failures are named; markup in a failure stays text."""
    text = opened.value(
        "document.querySelectorAll('details').forEach(each => each.open = true); document.body.innerText"
    )
    assert "books (stand-in)" in text
    assert "8 of 9" in text  # lists with a repeated item
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


def test_numbers_are_aligned_to_the_right(opened):
    """In the tables, and their heads as well."""
    aligned = opened.value("[...document.querySelectorAll('.number')].map(each => getComputedStyle(each).textAlign)")
    assert set(aligned) == {"right"}


def test_it_can_be_printed(browser, report):
    """The print is a PDF of some pages, with the verdict as a table."""
    browser.open(report, width=1400)
    assert browser.call("Page.printToPDF", preferCSSPageSize=True)["data"].startswith("JVBERi0")  # %PDF-
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.value("getComputedStyle(document.querySelector('.cards tr')).display") == "table-row"
    browser.call("Emulation.setEmulatedMedia", media="")
