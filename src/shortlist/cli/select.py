"""`shortlist select`: from votes in files or a database to a release."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.cli import options
from shortlist.cli.display import check_outputs, print_release, remark, show_progress, write_release
from shortlist.cli.options import Format
from shortlist.errors import ParameterError, ShortlistError

if TYPE_CHECKING:
    from shortlist.exact.bits import Bits
    from shortlist.release import Release

EXAMPLE = r"""shortlist select plays/*.parquet --person user_id --item track \
    --domain catalogue.csv -k 10 --epsilon 1 --output top10.json"""


@options.take_groups
def select(
    item: options.Item,
    person: options.Person = None,
    count: options.Count = None,
    *,
    request: options.Request,
    source: options.Source,
    label: options.Label = None,
    people: options.People = None,
    ledger: options.Ledger = None,
    note: options.Note = None,
    period: options.Period = None,
    output: options.Outputs = None,
    force: options.Force = False,
    printed: options.Printed = Format.TABLE,
    quiet: options.Quiet = False,
    seed: options.Seed = None,
    insecure: options.Insecure = False,
) -> None:
    """Release the k most-voted items of a domain, best first.

    A person counts once for an item, however often the log repeats it. Rows without a person or an item, and votes
    for items outside the domain, are ignored. Whether votes match the domain depends on the data, so a release cannot
    say it: run `shortlist check` first, and whenever the log or the domain changes its form. Without a domain, --delta
    is needed, and items that only few people chose are left out: up to k items are released.
    """
    bits, outputs = _read_bits(seed, insecure), output or []
    check_outputs(outputs, force=force, quiet=quiet)
    with show_progress(quiet=quiet) as step, warnings.catch_warnings():
        from shortlist.release import UsefulnessWarning, find_warnings
        from shortlist.selection import select as select_from

        warnings.simplefilter("ignore", UsefulnessWarning)  # printed as remarks below
        asked: dict[str, Any] = {
            **request.read(),
            "item": item,
            "person": person,
            "count": count,
            "domain": source.read_domain(),
            "domain_column": source.domain_column,
            "label": None if label is None else [name.strip() for name in label.split(",")],
            "people": people,
            "ledger": ledger,
            "note": note,
            "period": period,
            "memory_limit": source.memory_limit,
            "bits": bits,
        }
        release = select_from(source.read_votes(), **asked, progress=step)
    for path in outputs:
        write_release(release, path, force=force)
        remark(f"wrote {path}", quiet=quiet)
    for text in find_warnings(release, people):
        remark(f"remark: {text}", quiet=quiet)
    if not quiet:
        print_release(release, printed)
    _print_charge(release, ledger, quiet=quiet)


def _print_charge(release: Release, ledger: Path | None, *, quiet: bool) -> None:
    """Say what was charged, and what is left. The release is made, so a ledger that cannot be read is no failure."""
    from shortlist.ledger import require_ledger

    with suppress(ShortlistError):
        charged = None if quiet else require_ledger(ledger)
        if charged is not None:
            left = charged.budget.write_left(charged.spent)
            remark(f"charged to {ledger or charged.path}: {release.guarantee}; left: {left}", quiet=quiet)


def _read_bits(seed: int | None, insecure: bool) -> Bits | None:
    """Make repeatable bits if both options ask for them. None means those of the operating system."""
    if seed is None and not insecure:
        return None
    if seed is None or not insecure:
        raise ParameterError(
            "`seed` and `insecure` must go together",
            "a release that can be repeated is not private",
            hint="leave both out for a release to publish",
        )
    from shortlist.exact.bits import SeededBits

    return SeededBits(seed)
