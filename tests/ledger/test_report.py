"""The report of a ledger: what it says, what it refuses, and how it looks in a real browser and on paper."""

import hashlib
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from browser import open_page

import shortlist
from shortlist import Ledger, prepare, select
from shortlist.errors import DataError, OutputError, ParameterError
from shortlist.ledger.report import _PROOFS, write_report
from shortlist.ledger.statement import Statement, add_at
from shortlist.mechanisms import MECHANISMS, Joint, LimitedDomain
from shortlist.privacy import Guarantee

HOSTILE = '</style><b>chart</b> & "more"'
AUDIT = {
    "schema": "shortlist.audit/2",
    "verdict": "PASS: 9 checks passed",
    "version": "0.0.1",
    "made": "2026-11-18T06:00:00+00:00",
    "system": "Linux",
    "machine": "x86_64",
    "findings": [{"subject": "joint, a=1"}],
}
VOTES = {"user": [*range(300), *range(200)], "track": ["a"] * 300 + ["b"] * 200}
SAID = dict.fromkeys(("purpose", "controller", "contact", "data", "recipients"), "what is said in many words " * 7)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "budget.db", epsilon=10, delta="1e-6", population=HOSTILE)


def fill(ledger):
    """Charge lists with a domain and without, counted by the library and elsewhere, some of them by group."""
    common = {"person": "user", "item": "track", "ledger": ledger, "epsilon": "0.2"}
    for week in range(8):
        note = f"Top tracks 2026-W{week:02}"
        select(VOTES, **common, domain=["a", "b", "c"], k=2, mechanism="joint", note=note)
    select(VOTES, **common, k=2, delta="1e-9", note=HOSTILE)
    ledger.charge(Joint(k=3, epsilon="1/3", groups_per_person=2))


def read(page):
    page = re.sub(r"</?span[^>]*>", "", page)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("</style>")[2]).replace("&nbsp;", " "))


def test_the_page_says_what_the_ledger_knows(ledger, tmp_path):
    """Numbers are rounded up; lists are named by what their notes share; each record has its hash."""
    fill(ledger)
    ledger.report(tmp_path / "report.html", purpose=HOSTILE)
    page = (tmp_path / "report.html").read_text()
    text = read(page)
    assert HOSTILE not in page
    assert f"Ledger {ledger.id}" in text
    for words in (
        "ε 10, δ 1e-6 budget of all releases together",
        "Top tracks … 2 joint 8 ε 0.2",
        "3 joint 1 ε 0.3334",
        "limited-domain 1 ε 0.2, δ 1e-9",
        "Charges without a finished release count as spent: there are 1.",
        "It was not made from these data. the publisher",
        "only within the limits that the record states. shortlist, which counted",
        "One person adds at most 1 to a count, as was declared. the publisher; not checked by shortlist",
        "The list of groups is public. One person is counted in at most 2 of them.",
        "mechanisms/limited_domain.proof.md",
        "mechanisms/families.proof.md",
        "All releases of this ledger together, also later ones. " + ledger.budget.guarantee.in_words,
    ):
        assert words in text, words
    hashes = [each.release for each in ledger.charges if each.release]
    assert all(each in text for each in hashes[-6:])
    assert hashlib.sha256("".join(f"{each}\n" for each in hashes).encode()).hexdigest() in text
    so_far = Statement.read(ledger).so_far
    assert so_far.epsilon < sum(each.guarantee.epsilon for each in ledger.charges) <= ledger.budget.guarantee.epsilon
    (shown,) = re.findall(r"ε ([\d.]+), δ 1e-6 spent so far", text)
    assert so_far.epsilon <= Fraction(shown) <= so_far.epsilon * Fraction("1.001")


def test_what_nobody_said_is_a_gap(ledger):
    """An empty ledger has a page, too. A text that is given closes its gap everywhere."""
    page = write_report(ledger, {})
    assert page.count('class="gap"') == 10
    assert write_report(ledger, {"purpose": "a chart", "audit": None}).count('class="gap"') == 8
    assert write_report(ledger, SAID).count('class="gap"') == 2
    assert "Nothing was charged yet." in read(page)


def test_an_audit_is_repeated_with_its_limits(ledger, tmp_path):
    """The verdict, and which mechanisms and versions it does not cover."""
    fill(ledger)
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(AUDIT))
    text = read(write_report(ledger, {}, path))
    assert "PASS: 9 checks passed, on 2026-11-18, shortlist 0.0.1 on Linux x86_64." in text
    assert "Not checked: limited-domain. It is of another version than releases of this ledger." in text
    assert hashlib.sha256(path.read_bytes()).hexdigest() in text


@pytest.mark.parametrize("wrong", ["", "[]", "{}", '"x"', json.dumps({**AUDIT, "schema": "other"}), "\udcff"])
def test_another_file_is_no_audit(ledger, tmp_path, wrong):
    """The error names what is expected, and nothing is written."""
    (tmp_path / "audit.json").write_bytes(wrong.encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=r"must be a file that .?shortlist audit"):
        ledger.report(tmp_path / "report.html", audit=tmp_path / "audit.json")
    assert not (tmp_path / "report.html").exists()


def test_wrong_texts_and_files_are_refused(ledger, tmp_path):
    """Texts are one line, files are not overwritten without a word, and a missing audit is named."""
    path = tmp_path / "report.html"
    for wrong in ("two\nlines", "x" * 201, 7, "\u202eabc"):
        with pytest.raises(ParameterError, match="purpose must be one line"):
            ledger.report(path, purpose=wrong)
    for wrong, words in ((tmp_path / "absent.json", "readable; No such file"), ("/dev/zero", "a file; it is a folder")):
        with pytest.raises(DataError, match=f"audit must be {words}"):
            ledger.report(path, audit=wrong)
    ledger.report(path)
    with pytest.raises(OutputError):
        ledger.report(path)
    ledger.report(path, force=True)


def test_the_page_never_replaces_its_ledger(tmp_path):
    """A budget that is lost cannot start again."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(ParameterError, match="path must be another file than the ledger"):
        ledger.report(tmp_path / "." / "budget.db", force=True)
    assert ledger.left.epsilon == 1


def test_weights_and_large_limits_are_vouched_for(tmp_path):
    """A person may add a weight, and a caller may declare any sensitivity."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10)
    select({**VOTES, "minutes": [3] * 500}, person="user", item="track", domain=["a", "b"], k=1, epsilon=1,
           weight="minutes", max_weight=10, ledger=ledger)  # fmt: skip
    prepare([9, 5, 1], k=1, epsilon=1, sensitivity=2**60, mechanism="joint").release(ledger=ledger)
    text = read(write_report(ledger, {}))
    assert "once for an item, or adds at most the weight that the record states, and only" in text
    assert f"One person adds at most {2**60} to a count" in text
    assert "votes/weights.proof.md" in text


def test_every_proof_that_is_named_exists():
    """A reader finds it in the package."""
    package = Path(shortlist.__file__).parent
    names = [*_PROOFS.values(), *(f"mechanisms/{name.replace('-', '_')}" for name in MECHANISMS)]
    assert [name for name in names if not (package / f"{name}.proof.md").exists()] == []


def test_a_delta_that_cannot_be_met_is_added():
    """What releases promise together is stated at the delta that is given, or at what they need and that."""
    unlisted = LimitedDomain(k=10, epsilon=1, delta="1e-6").guarantee
    assert add_at([unlisted] * 52, Fraction(1, 10**4)).delta == Fraction(1, 10**4)
    assert add_at([unlisted] * 52, Fraction(1, 10**6)).delta == 52 * unlisted.rho_delta + Fraction(1, 10**6)
    assert add_at([unlisted] * 52, Fraction(0)).epsilon == 52
    assert add_at([Guarantee(epsilon=1, delta="0.4")] * 4, Fraction(1, 10)).delta == 1
    assert add_at([Guarantee(epsilon=1, delta="1e-6")], Fraction(1, 10**6)).delta == Fraction(1, 10**6)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with as much as it shows, and long texts."""
    folder = tmp_path_factory.mktemp("report")
    ledger = Ledger.create(folder / "budget.db", epsilon=10, delta="1e-6", population=HOSTILE)
    fill(ledger)
    (folder / "audit.json").write_text(json.dumps(AUDIT))
    ledger.report(folder / "report.html", **SAID, audit=folder / "audit.json")
    return folder / "report.html"


@pytest.mark.parametrize("width", [390, 1200])
def test_it_is_read_on_every_screen(browser, page, width):
    """Nothing is asked for but the page itself, nothing overflows, and texts from elsewhere stay text."""
    with open_page(browser, page, width=width) as opened:
        assert (opened.complaints, opened.requests) == ([], [page.as_uri()])
        assert opened.value("document.documentElement.scrollWidth") <= width
        assert opened.value(
            "[...document.querySelectorAll('b')].every(each => each.parentElement.matches('.figures div'))"
        )
        assert HOSTILE in opened.page.locator("#who + dl").inner_text()
        assert opened.page.get_by_role("heading", level=2).count() == 8
        assert opened.page.get_by_role("img", name="Share of the budget").count() == 1
        assert opened.page.get_by_role("rowheader", name="All lists together").count() == 1


def test_it_prints_on_two_pages_of_a4(browser, page):
    """With the line to sign on the second."""
    with open_page(browser, page, width=1200) as opened:
        pdf = opened.page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 2
    assert set(re.findall(rb"/MediaBox \[([\d. ]+)\]", pdf)) == {b"0 0 594.95996 841.91998"}


def test_a_budget_for_each_week_is_not_called_one_for_all(tmp_path):
    """With a total, it is what all releases promise. Without one, the promise is that of one week."""
    for total, words in ((12, "All releases of this ledger"), (None, "All releases of one week of this ledger")):
        ledger = Ledger.create(tmp_path / f"{total}.db", per="week", epsilon=1, total_epsilon=total)
        for week in (45, 46):
            ledger.charge(Joint(k=10, epsilon="1/2"), period=f"2025-W{week}", note=f"Top 10 tracks {week}")
        ledger.charge(Joint(k=5, epsilon="1/4"), period="2025-W46", note="Artists")
        text = read(write_report(ledger, {}))
        assert f"{words} together, also later ones." in text
        assert ("Each week has ε 1." in text) is (total is not None)
        assert "The 3 releases so far, for a person with votes in all of them." in text
        # One release, the year, the largest week, and as many weeks as a year can have.
        assert "Top 10 tracks … 10 joint 2 ε 0.5 ε 1 ε 0.5 ε 26.5" in text
        assert "All lists together 3 ε 1.25 ε 0.75 ε 39.75" in text
        assert "a release counts the votes of its own period only. the publisher" in text
        assert [(each.label, each.charges, each.share) for each in Statement.read(ledger).draw()] == [
            ("2025-W45", 1, Fraction(1, 2)),
            ("2025-W46", 2, Fraction(3, 4)),
            *([("total", 3, Fraction(5, 48))] if total else []),
        ]
