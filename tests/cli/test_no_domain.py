"""`shortlist select` without a domain: the options that only its mechanisms have."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from shortlist.release import Release

from .conftest import Call

THRESHOLD = ("--mechanism", "threshold", "--votes-per-person", "2")


@pytest.fixture
def select(call: Call) -> Callable[..., Result]:
    """Call `shortlist select` on the folder's votes without a domain."""

    def select(*arguments: str) -> Result:
        columns = ("--person", "user_id", "--item", "track", "--epsilon", "1", "--delta", "1e-6")
        return call("select", "plays", *columns, *(() if "-k" in arguments else ("-k", "3")), *arguments)

    return select


@pytest.mark.parametrize(
    ("options", "mechanism", "parameter", "value"),
    [
        (("--k-bar", "50"), "limited-domain", "k_bar", 50),
        ((*THRESHOLD, "--noise", "laplace"), "threshold", "noise", "laplace"),
        ((*THRESHOLD, "--noise", "gaussian"), "threshold", "noise", "gaussian"),
        (("--mechanism", "stable", "--unordered", "-k", "2-4"), "stable", "at_least", 2),
    ],
    ids=["k-bar", "laplace", "gaussian", "stable"],
)
def test_options_reach_the_record(
    select: Callable[..., Result],
    folder: Path,
    options: tuple[str, ...],
    mechanism: str,
    parameter: str,
    value: object,
) -> None:
    """The record names the mechanism and the value that were asked for."""
    done = select(*options, "--output", "top.json")
    assert done.exit_code == 0, done.stderr
    release = Release.from_json(folder / "top.json")
    assert (release.mechanism, release.parameters[parameter]) == (mechanism, value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--k-bar", "2"), "error: --k-bar must be at least -k, which is 3, not 2.\nHint: leave --k-bar out\n"),
        ((*THRESHOLD, "--noise", "gauss"), "error: --noise must be 'gaussian' or 'laplace', not 'gauss'.\n"),
        (
            ("--noise", "laplace"),
            "error: --noise must go with --mechanism threshold; auto chose limited-domain for these parameters, which "
            "has no such parameter.\nHint: leave --noise out, or pass --mechanism threshold, "
            "which needs --votes-per-person\n",
        ),
        (
            ("--k-bar", "300", "-k", "100", "--votes-per-person", "2"),
            "error: --k-bar must go with --mechanism limited-domain; auto chose threshold for these parameters, which "
            "has no such parameter.\nHint: leave --k-bar out, or pass --mechanism limited-domain\n",
        ),
        ((*THRESHOLD, "--k-bar", "50"), "Hint: --k-bar is for --mechanism limited-domain\n"),
        (("--domain", "catalogue.csv", "--k-bar", "50"), "Hint: --k-bar is for --mechanism limited-domain\n"),
        (("--mechanism", "limited-domain", "--unordered"), "error: limited-domain has no --unordered: the order of"),
        (("-k", "2-4"), "error: -k must be one number where there is no --domain, not a range of sizes.\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_options_say_what_to_do(select: Callable[..., Result], options: tuple[str, ...], words: str) -> None:
    """An option for another mechanism is refused before votes are read, with the mechanism that it is for."""
    done = select(*options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr


def test_the_table_says_what_counts_are(select: Callable[..., Result]) -> None:
    """Numbers end in one column, and a sentence says how far off they are."""
    bought = select("--counts-epsilon", "1/2").stdout
    assert "the count before noise lies from low to high with probability 0.95" in " ".join(bought.split())
    head, _, first, *_ = (line for line in bought.splitlines() if line)
    assert head.endswith("high")
    assert len(first) == len(head), "both end in one column"
    assert "Counts are noisy." in select(*THRESHOLD).stdout
