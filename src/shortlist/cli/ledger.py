"""`shortlist ledger`: a privacy budget in a file, what was charged to it, and what is left."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from shortlist.cli import options
from shortlist.cli.display import check_output, make_console, print_lines, remark, to_text
from shortlist.errors import ParameterError

EXAMPLES = {
    "create": 'shortlist ledger create budget.db --epsilon 10 --delta 1e-6 --population "customers EU"',
    "show": "shortlist ledger create budget.db --epsilon 10\nshortlist ledger show budget.db --output ledger.json",
    "afford": "shortlist ledger create budget.db --epsilon 10\nshortlist ledger afford budget.db -k 10 --epsilon 0.5",
}

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Keep a privacy budget that releases are charged to.",
    epilog=options.format_example(EXAMPLES["create"]),
)

File = Annotated[Path, typer.Argument(metavar="LEDGER", help="The file of the ledger.", show_default=False)]
Budget = Annotated[
    str, options.option(options.BUDGET, "The epsilon that all releases may have together.", metavar="NUMBER")
]
BudgetDelta = Annotated[
    str, options.option(options.BUDGET, "The delta that all releases may have together.", metavar="NUMBER")
]
Accounting = Annotated[
    str | None,
    options.option(
        options.BUDGET,
        "How releases are added up; fixed once created. [default: both, or basic without --delta]",
        metavar="<basic|zcdp|both>",
    ),
]
BasicShare = Annotated[
    str | None,
    options.option(options.BUDGET, "With both: the share of --delta for basic. [default: 1/2]", metavar="NUMBER"),
]
Population = Annotated[
    str | None, options.option(options.BUDGET, "Whose data it is, say 'customers EU'.", metavar="TEXT")
]
Output = Annotated[
    Path | None, options.option(options.OUTPUT, "Write everything as JSON.", "--output", "-o", metavar="FILE")
]


@app.command(cls=options.Command, epilog=options.format_example(EXAMPLES["create"]))
def create(
    path: File,
    epsilon: Budget,
    delta: BudgetDelta = "0",
    accounting: Accounting = None,
    basic_share: BasicShare = None,
    neighbours: options.Neighbours = "add-remove",
    unit: options.Unit = "person",
    population: Population = None,
    quiet: options.Quiet = False,
) -> None:
    """Create a ledger in a new file."""
    from shortlist.ledger import Amount, Ledger

    made = Ledger.create(
        path,
        epsilon=epsilon,
        delta=delta,
        accounting=accounting,
        basic_share=basic_share,
        neighbours=neighbours,
        unit=unit,
        population=population,
    )
    accountings = " and ".join(made.budget.list_left(Amount()))
    remark(f"created {path}: {made.budget.guarantee}; accounting: {accountings}", quiet=quiet)
    if made.budget.accounting == "both":
        limits = made.budget.write_left(Amount())
        remark(f"limits: {limits}; only basic accounting covers a release with a delta and without a rho", quiet=quiet)


@app.command(cls=options.Command, epilog=options.format_example(EXAMPLES["show"]))
def show(path: File, output: Output = None, force: options.Force = False, quiet: options.Quiet = False) -> None:
    """Show each charge, what is spent and what is left. With --quiet, only check that the ledger can be read."""
    from shortlist.atomic_files import write_whole
    from shortlist.ledger import Ledger
    from shortlist.ledger.statement import Statement

    if output is not None:
        check_output(output, (".json",), force=force)
    statement = Statement.read(Ledger.open(path))
    if output is not None:
        text = json.dumps(statement.to_dict(), indent=2, ensure_ascii=False) + "\n"
        write_whole(output, lambda file: file.write(text.encode()), force=force)
        remark(f"wrote {output}", quiet=quiet)
    if not quiet:
        _print(statement)


@app.command(cls=options.Command, epilog=options.format_example(EXAMPLES["afford"]))
@options.take_groups
def afford(path: File, *, request: options.Request, no_domain: options.NoDomain = False) -> None:
    """Print how many more releases like this one the budget covers.

    The options are those of select. --no-domain stands for a select without --domain.
    """
    from shortlist.ledger import Ledger
    from shortlist.terms import Terms

    opened = Ledger.open(path)
    if no_domain and request.delta is None:
        raise ParameterError("`delta` must go with `without_domain`", "it was not given", hint="try `delta=1e-6`")
    terms = Terms.read(**request.read(), without_domain=no_domain)
    number = opened.afford(terms.state_guarantee())
    # A number alone is for scripts, and a script reads from a pipe.
    print(f"{number:,} more {'release' if number == 1 else 'releases'} like this" if sys.stdout.isatty() else number)


def _print(statement: Any) -> None:
    """Print lines, not a table: a table of charges is wider than a narrow terminal."""
    console = make_console()
    for line in statement.summary():
        print_lines(console, to_text(line))
    for charge in statement.charges:
        release = "not finished" if charge.release is None else f"release {charge.id[:12]}"
        print()
        print_lines(console, to_text(f"Charge {charge.number:,}, {charge.made:%Y-%m-%d %H:%M} UTC, {release}"))
        print_lines(console, to_text(f"  {charge.mechanism}, {str(charge.guarantee).partition(' for one ')[0]}"))
        if charge.note:
            print_lines(console, to_text(f"  {charge.note}"))
