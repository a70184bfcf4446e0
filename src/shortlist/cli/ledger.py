"""`shortlist ledger`: a privacy budget in a file, what was charged to it, and what is left."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from shortlist.cli import options
from shortlist.cli.display import make_console, print_lines, remark, to_text
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
Budget = Annotated[str, typer.Option(metavar="NUMBER", help="The epsilon that all releases may have together.")]
BudgetDelta = Annotated[str, typer.Option(metavar="NUMBER", help="The delta that all releases may have together.")]
Accounting = Annotated[
    str | None,
    typer.Option(
        metavar="<basic|zcdp|both>",
        help="How releases are added up; fixed once created. [default: both, or basic without --delta]",
    ),
]
BasicShare = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="With both: the share of --delta for basic. [default: 1/2]"),
]
Population = Annotated[str | None, typer.Option(metavar="TEXT", help="Whose data it is, say 'customers EU'.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write everything as JSON.")]


@app.command(epilog=options.format_example(EXAMPLES["create"]))
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
    remark(f"created {path}: {made.budget.guarantee}; accounting: {made.budget.accounting.in_words}", quiet=quiet)
    if made.budget.accounting == "both":
        limits = made.budget.write_left(Amount())
        remark(f"limits: {limits}; only basic accounting covers a release with a delta and without a rho", quiet=quiet)


@app.command(epilog=options.format_example(EXAMPLES["show"]))
def show(path: File, output: Output = None, force: options.Force = False, quiet: options.Quiet = False) -> None:
    """Show each charge, what is spent and what is left. With --quiet, only check that the ledger can be read."""
    from shortlist.atomic_files import check_target, write_whole
    from shortlist.ledger import Ledger
    from shortlist.ledger.statement import Statement

    if output is not None:
        if output.suffix.lower() != ".json":
            raise ParameterError("{output} must end in .json", "not {path}", path=repr(str(output)))
        check_target(output, force=force)
    statement = Statement.read(Ledger.open(path))
    if output is not None:
        text = json.dumps(statement.to_dict(), indent=2, ensure_ascii=False) + "\n"
        write_whole(output, lambda file: file.write(text.encode()), force=force)
        remark(f"wrote {output}", quiet=quiet)
    if not quiet:
        _print(statement)


@app.command(epilog=options.format_example(EXAMPLES["afford"]))
def afford(
    path: File,
    k: options.Sizes,
    epsilon: options.Epsilon,
    votes_per_person: options.VotesPerPerson = None,
    mechanism: options.Mechanism = None,
    any_order: options.AnyOrder = False,
    beta: options.Beta = None,
    delta: options.Delta = None,
    no_domain: options.NoDomain = False,
    k_bar: options.KBar = None,
    noise: options.Noise = None,
    assess: options.Assess = None,
    counts_epsilon: options.CountsEpsilon = None,
    counts_rho: options.CountsRho = None,
    counts_delta: options.CountsDelta = None,
    sensitivity: options.Sensitivity = 1,
    neighbours: options.Neighbours = "add-remove",
    unit: options.Unit = "person",
) -> None:
    """Print how many more releases like this one the budget covers.

    The options are those of select. --no-domain stands for a select without --domain.
    """
    from shortlist.ledger import Ledger
    from shortlist.mechanisms import DEFAULT_MECHANISM
    from shortlist.terms import Terms

    opened = Ledger.open(path)
    terms = Terms.read(
        mechanism or DEFAULT_MECHANISM,
        options.read_sizes(k),
        epsilon,
        neighbours,
        sensitivity=sensitivity,
        votes_per_person=votes_per_person,
        unit=unit,
        without_domain=no_domain,
        ordered=False if any_order else None,
        beta=beta,
        delta=delta,
        k_bar=k_bar,
        noise=noise,
        assess=assess,
        counts_epsilon=counts_epsilon,
        counts_rho=counts_rho,
        counts_delta=counts_delta,
    )
    number = opened.afford(terms.state_guarantee())
    # A number alone is for scripts, and a script reads from a pipe.
    print(f"{number:,} more {'release' if number == 1 else 'releases'} like this" if sys.stdout.isatty() else number)


def _print(statement: Any) -> None:
    """Print lines, not a table: a table of charges is wider than a narrow terminal."""
    console = make_console()
    for line in statement.summary():
        print_lines(console, to_text(line))
    for charge in statement.charges:
        release = "not finished" if charge.release is None else f"release {charge.release[:12]}"
        print()
        print_lines(console, to_text(f"Charge {charge.number:,}, {charge.made:%Y-%m-%d %H:%M} UTC, {release}"))
        print_lines(console, to_text(f"  {charge.mechanism}, {statement.write(charge)}"))
        if charge.note:
            print_lines(console, to_text(f"  {charge.note}"))
