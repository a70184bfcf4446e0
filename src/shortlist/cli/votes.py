"""`shortlist select`: from votes in files or a database to a release. `shortlist check`: how they fit the domain."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import shortlist
from shortlist import ledger as package
from shortlist.atomic_files import check_target, write_whole
from shortlist.cli.app import app, command
from shortlist.cli.display import check_outputs, check_quiet, print_release, remark, show_progress
from shortlist.cli.options import (
    ACCURACY,
    BUDGET,
    FAMILY,
    PRINTED,
    PRIVACY,
    REQUEST,
    SOURCE,
    WEIGHTS,
    WHAT,
    Format,
    be_quiet,
    read_request,
    read_source,
    under,
    write_to,
)
from shortlist.cli.process import RELEASED_BEFORE, write_option
from shortlist.errors import ParameterError, ShortlistError
from shortlist.votes.failures import hide_secrets

if TYPE_CHECKING:
    from shortlist.ledger.charging import Account

_SELECT = r"""shortlist select plays/*.parquet --person user_id --item track \
    --domain catalogue.csv -k 10 --epsilon 1 --output top10.json"""
_CHECK = r"""shortlist check plays/*.parquet --person user_id --item track \
    --domain catalogue.csv --output check.txt"""

_TIME = under(
    WHAT,
    time="COLUMN | The column of dates or timestamps: only votes of a public range of days count.",
    every="<day|week|month|quarter|year> | With --time: release one list for each period of the range.",
    since="DAY | With --time: the first day of the range, say 2026-08-31, or a period.",
    until="DAY | With --time: the last day of the range, say 2026-10-25, or a period.",
    period=(
        "PERIOD | With --time, in place of a range: one period, say 2026-W36. Without --time, a note; with --count, "
        "the period that the counts are about."
    ),
    time_zone="NAME | With --time: the zone of local dates, say Europe/Berlin. [default: UTC]",
) | under(
    PRIVACY,
    per=(
        "<day|week|month|quarter|year> | With --every: protect one person in one period, such as week, not the "
        "whole person. The limits are then for one period."
    ),
)


@command(
    app,
    _SELECT,
    SOURCE,
    REQUEST,
    under(
        WHAT,
        label="COLUMNS | Carry these columns of the domain into the outputs, say title,artist.",
    ),
    FAMILY,
    WEIGHTS,
    under(WHAT, weight_unit="WORD | What the weights count, say minutes. [default: the column]"),
    under(
        ACCURACY,
        people_epsilon="NUMBER | With --by: spend this epsilon on top, for a noisy number of people of each group.",
        min_people="N | With --people-epsilon: groups with fewer people, by that number, get no list.",
        people="N | How many people there are, if public: warns of useless lists.",
    ),
    _TIME,
    under(
        BUDGET,
        ledger="LEDGER | Charge the release to this budget, a file or postgresql://...; see `shortlist ledger`.",
        once="KEY | With --ledger: release this key once. The same request gives the same release again, free.",
        note="TEXT | What the release is for. The record and the ledger say it.",
    ),
    write_to("Write the release: .json, .csv or .parquet; may be repeated.", list[Path]),
    PRINTED,
    be_quiet("; needs --output"),
    under(
        PRIVACY,
        seed="N | Make randomness repeatable, for tests; needs --insecure.",
        insecure="Allow repeatable randomness. The release is marked as not secure.",
    ),
    summary="Release the k most-voted items.",
)
def select(
    *,
    output: list[Path] | None,
    force: bool,
    printed: Format,
    quiet: bool,
    seed: int | None,
    insecure: bool,
    **asked: Any,
) -> None:
    """Release the k most-voted items of a domain, best first.

    A person counts once for an item, however often the log repeats it. Rows without a person or an item, and votes
    for items outside the domain, are ignored. Whether votes match the domain depends on the data, so a release cannot
    say it: run `shortlist check` first, and whenever the log or the domain changes its form. Without a domain, --delta
    is needed, and items that only few people chose are left out: up to k items are released.

    With --by, one list is released for each group. The guarantee is that of all lists together, so --groups-per-person
    or --votes-per-person is needed.

    With --time, only votes of the days from --since to --until count, or those of one --period. With --every, one list
    is released for each period of that range.

    With --weight and --max-weight, people add numbers to an item, and the items with the largest sums are released.
    Numbers are rounded down. What is negative or no number adds nothing. If no value is a number, the list is chance,
    and no release can say it: run `shortlist check` first, which says how much weight counts.
    """
    bits, outputs = _read_bits(seed, insecure), output or []
    check_outputs(outputs, force=force, quiet=quiet, once=asked["once"] is not None)
    with show_progress() as step, warnings.catch_warnings():
        from shortlist.usefulness import find_warnings

        warnings.simplefilter("ignore", shortlist.UsefulnessWarning)  # printed as remarks below
        release = shortlist.select(**read_source(read_request(asked)), bits=bits, progress=step)
    for path in outputs:
        write = {".json": release.to_json, ".csv": release.to_csv, ".parquet": release.to_parquet}[path.suffix.lower()]
        write(path, force=force)
        remark(f"wrote {path}")
    account = package.latest
    assert account is not None
    before = account.recalled is not None
    if not quiet:
        for text in find_warnings(release, asked["people"]):
            remark(f"remark: {text}")
        print_release(release, printed, whole=not outputs)  # what is not written would be lost
        _say_what_is_left(release, account, asked["ledger"], before=before)
    if before:
        raise typer.Exit(RELEASED_BEFORE)


def _say_what_is_left(
    release: shortlist.release.Publication, account: Account, named: str | None, *, before: bool
) -> None:
    """Say what was charged and what is left. The release is made, so a ledger that cannot be read is no failure."""
    ledger = account.ledger
    if ledger is not None:
        with suppress(ShortlistError):
            left = ledger.write_left(None if ledger.calendar is None else ledger.verify(release).period)
            place = hide_secrets(named) if named else ledger.store.location
            what = f"released before as charge {release.charge:,} of" if before else "charged to"
            remark(f"{what} {place}: {release.guarantee}; left: {left}")


def _read_bits(seed: int | None, insecure: bool) -> Any:
    """Make repeatable bits if both options ask for them. None means those of the operating system."""
    if seed is None and not insecure:
        return None
    if seed is None or not insecure:
        raise ParameterError(
            "`seed` and `insecure` must go together",
            "a release that can be repeated is not private",
            hint="leave both out for a release to publish",
        )
    return shortlist.testing.SeededBits(seed)


@command(
    app,
    _CHECK,
    {
        **SOURCE,
        "by": FAMILY["by"],
        "groups": FAMILY["groups"],
        **_TIME,
        **WEIGHTS,
        **under(WHAT, show_values="Show some items of the votes. They are private."),
        **write_to("Write the check to a file that only you may read."),
        **be_quiet("; needs --output"),
    },
    summary="Check how the votes fit the domain.",
)
def check(*, output: Path | None, force: bool, quiet: bool, **asked: Any) -> None:
    """Check how the votes fit the domain. The result is NOT PRIVATE and not for publication.

    It says how many rows match, which rows do not and why. Use it before a release: no release says that a column of
    JSON lines is misspelt, or that lines of CSV could not be read. It is shown on a terminal only, or written to a file
    that only you may read: text, or JSON if the name ends in .json.

    With --by or --every, it also says how many groups a person has, and which groups are nearly empty: use it to choose
    --groups-per-person and --votes-per-person.
    """
    check_quiet(quiet, output, "the check would be lost", "output='check.txt'")
    _check_destination(output, force=force)
    with show_progress() as step:
        asked["by"] = asked["by"] or ()
        found = shortlist.check(**read_source(asked), progress=step)
    if output is None:
        print(found.write(write_option))
        return
    text = json.dumps(found.to_dict(), indent=2) if output.suffix.lower() == ".json" else found.write(write_option)
    # Columns may have names that UTF-8 cannot hold.
    write_whole(output, f"{text}\n".encode("utf-8", "backslashreplace"), force=force, private=True)
    remark(f"wrote {output}; it is not private, and not for publication")


def _check_destination(output: Path | None, *, force: bool) -> None:
    """Refuse a pipe or a redirection, before any data is read: the result could end up where others see it."""
    if output is not None:
        check_target(output, force=force)
        if output.exists() and not output.is_file():
            raise ParameterError("`output` must be a file that can be protected", "it is a pipe or a device")
    elif not sys.stdout.isatty():
        raise ParameterError(
            "a check must be shown on a terminal, because it is not private",
            "standard output is a pipe or a file",
            hint="write it to a file that only you may read: `output='check.txt'`",
        )
