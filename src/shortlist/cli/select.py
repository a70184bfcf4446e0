"""`shortlist select`: from votes in files or a database to a release."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.cli import options
from shortlist.cli.display import remark, show_progress
from shortlist.cli.inputs import Source, take_source
from shortlist.cli.options import Format
from shortlist.cli.output import check_output, print_release, write_release
from shortlist.errors import ParameterError, ShortlistError

if TYPE_CHECKING:
    from shortlist.exact.bits import Bits
    from shortlist.release import Release

EXAMPLE = r"""shortlist select plays/*.parquet --person user_id --item track \
    --domain catalogue.csv -k 10 --epsilon 1 --output top10.json"""

_CHECK = "remark: run `shortlist check` on the same files to see whether votes match the domain"
"""It is the same after every release, because whether votes match depends on the data."""


@take_source
def select(
    item: options.Item,
    k: options.Sizes,
    epsilon: options.Epsilon,
    person: options.Person = None,
    votes_per_person: options.VotesPerPerson = None,
    count: options.Count = None,
    sensitivity: options.Sensitivity = 1,
    *,
    source: Source,
    output: options.Output = None,
    force: options.Force = False,
    printed: options.Printed = Format.TABLE,
    mechanism: options.Mechanism = None,
    any_order: options.AnyOrder = False,
    beta: options.Beta = None,
    delta: options.Delta = None,
    k_bar: options.KBar = None,
    noise: options.Noise = None,
    assess: options.Assess = None,
    counts_epsilon: options.CountsEpsilon = None,
    counts_rho: options.CountsRho = None,
    counts_delta: options.CountsDelta = None,
    people: options.People = None,
    neighbours: options.Neighbours = "add-remove",
    unit: options.Unit = "person",
    ledger: options.Ledger = None,
    note: options.Note = None,
    quiet: options.Quiet = False,
    seed: options.Seed = None,
    insecure: options.Insecure = False,
) -> None:
    """Release the k most-voted items of a domain, best first.

    A person counts once for an item, however often the log repeats it. Rows without a person or an item, and votes
    for items outside the domain, are ignored. Without a domain, --delta is needed, and items that only few people chose
    are left out: up to k items are released.
    """
    bits, sizes = _read_bits(seed, insecure), options.read_sizes(k)
    check_output(output, force=force, quiet=quiet)
    with show_progress(quiet=quiet) as step, warnings.catch_warnings():
        from shortlist.mechanisms import DEFAULT_MECHANISM
        from shortlist.release import UsefulnessWarning
        from shortlist.selection.from_votes import select as select_from

        warnings.simplefilter("ignore", UsefulnessWarning)  # printed as remarks below
        release = select_from(
            source.read_votes(),
            person=person,
            votes_per_person=votes_per_person,
            item=item,
            count=count,
            sensitivity=sensitivity,
            domain=source.read_domain(),
            domain_column=source.domain_column,
            memory_limit=source.memory_limit,
            k=sizes,
            epsilon=epsilon,
            mechanism=mechanism or DEFAULT_MECHANISM,
            neighbours=neighbours,
            unit=unit,
            bits=bits,
            ledger=ledger,
            note=note,
            progress=step,
            ordered=False if any_order else None,
            beta=beta,
            delta=delta,
            k_bar=k_bar,
            noise=noise,
            assess=assess,
            counts_epsilon=counts_epsilon,
            counts_rho=counts_rho,
            counts_delta=counts_delta,
            people=people,
        )
    if output is not None:
        write_release(release, output, force=force)
        remark(f"wrote {output}", quiet=quiet)
    print_release(release, printed, people=people, quiet=quiet)
    _print_charge(release, ledger, quiet=quiet)
    if source.has_domain:
        remark(_CHECK, quiet=quiet)


def _print_charge(release: Release, ledger: Path | None, *, quiet: bool) -> None:
    """Say what was charged, and what is left. The release is made, so a ledger that cannot be read is no failure."""
    from shortlist.ledger.charging import require_ledger

    with suppress(ShortlistError):
        charged = None if quiet else require_ledger(ledger)
        if charged is not None:
            left = charged.budget.write_left(charged.spent)
            remark(f"charged {release.guarantee} to {ledger or charged.path}; left: {left}", quiet=quiet)


def _read_bits(seed: int | None, insecure: bool) -> Bits | None:
    """Make repeatable bits if both options ask for them. None means those of the operating system."""
    if seed is None and not insecure:
        return None
    if seed is None or not insecure:
        raise ParameterError(
            "{seed} and {insecure} must go together",
            "a release that can be repeated is not private",
            hint="leave both out for a release to publish",
        )
    from shortlist.exact.bits import SeededBits

    return SeededBits(seed)
