"""`shortlist plan`: how good the list will be, before any privacy is spent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli import options
from shortlist.cli.display import make_console, print_lines, progress, remark, to_text
from shortlist.cli.inputs import describe_files
from shortlist.cli.options import Format
from shortlist.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from shortlist.planning.forecast import Forecast
    from shortlist.planning.plan import Plan

EXAMPLE = """shortlist plan --like zipf --exponent 1.1 --items 10000 --people 1e5 \\
    -k 20 --epsilon 1"""

_SUFFIXES = (".html", ".json")
_WIDE = 84

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILES",
        help="Counts, one row for each item: public, past or invented ones. Parquet, CSV or JSON lines.",
        show_default=False,
    ),
]
Item = Annotated[str | None, typer.Option(metavar="COLUMN", help="With FILES: the column of items.")]
Count = Annotated[str | None, typer.Option(metavar="COLUMN", help="With FILES: the column of counts.")]
Like = Annotated[str | None, typer.Option(metavar="<zipf>", help="In place of FILES: invent counts of this shape.")]
Exponent = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="With --like: how fast counts fall with the rank. [default: 1]")
]
Items = Annotated[str | None, typer.Option(metavar="N", help="With --like: how many items there are.")]
People = Annotated[str | None, typer.Option(metavar="N", help="With --like: how many people vote.")]
VotesPerPerson = Annotated[
    int | None, typer.Option(metavar="N", help="At most N votes of each person count, also in the counts given.")
]
Sort = Annotated[
    str,
    typer.Option(
        metavar="<recall|exact|error|total|bound|releases|name>", help="What the mechanisms are sorted by, best first."
    ),
]
Want = Annotated[
    str | None,
    typer.Option(metavar="WISH", help='Find the smallest epsilon for a wish: "recall 0.9", "exact 0.5" or "error 20".'),
]
BudgetEpsilon = Annotated[str, typer.Option(metavar="NUMBER", help="A budget: how many such releases does it cover?")]
BudgetDelta = Annotated[str, typer.Option(metavar="NUMBER", help="The delta of that budget.")]
Draws = Annotated[int, typer.Option(metavar="N", help="How many lists are drawn for each mechanism.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write a page to explore (.html), or the numbers (.json)."),
]
Printed = Annotated[Format, typer.Option("--format", help="What is printed.")]


def plan(
    k: options.K,
    epsilon: options.Epsilon,
    files: Files = None,
    item: Item = None,
    count: Count = None,
    like: Like = None,
    exponent: Exponent = None,
    items: Items = None,
    people: People = None,
    delta: options.Delta = None,
    votes_per_person: VotesPerPerson = None,
    any_order: options.AnyOrder = False,
    neighbours: options.Neighbours = "add-remove",
    sort: Sort = "recall",
    want: Want = None,
    budget_epsilon: BudgetEpsilon = "10",
    budget_delta: BudgetDelta = "1e-6",
    draws: Draws = 1000,
    output: Output = None,
    force: options.Force = False,
    printed: Printed = Format.TABLE,
    input_format: options.InputFormat = None,
    encoding: options.Encoding = "utf-8",
    no_header: options.NoHeader = False,
    delimiter: options.Delimiter = None,
    quiet: options.Quiet = False,
) -> None:
    """Forecast how good the list will be, for each mechanism, before any privacy is spent.

    The plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or
    invented.
    """
    _check_options(files, item=item, count=count, like=like, output=output, force=force, quiet=quiet)
    with progress(quiet=quiet) as step:
        from shortlist.planning.plan import NOT_PRIVATE
        from shortlist.planning.plan import plan as make_plan

        counts: Any = None
        if files:
            from shortlist.planning.count_files import read_count_files

            step("Reading the counts")
            described = describe_files(files, input_format, encoding, no_header, delimiter)
            counts = read_count_files(described, item=str(item), count=str(count))
        made = make_plan(
            counts,
            k=k,
            epsilon=epsilon,
            delta=delta,
            votes_per_person=votes_per_person,
            ordered=not any_order,
            neighbours=neighbours,
            like=like,
            exponent=exponent,
            items=items,
            people=people,
            sort=sort,
            want=want,
            budget_epsilon=budget_epsilon,
            budget_delta=budget_delta,
            draws=draws,
            item=item,
            progress=step,
        )
        if output is not None and output.suffix.lower() == ".json":
            made.to_json(output, force=force)
        elif output is not None:
            made.to_html(output, force=force, progress=step)
    if not made.histogram.invented:
        remark(NOT_PRIVATE, quiet=quiet)
    if output is not None:
        remark(f"wrote {output}", quiet=quiet)
    if not quiet:
        _print(made, printed)


def _check_options(
    files: list[str] | None,
    *,
    item: str | None,
    count: str | None,
    like: str | None,
    output: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Refuse options that do not fit each other, before anything is read."""
    if bool(files) == (like is not None):
        found = "both were" if files else "neither was"
        raise ParameterError(
            "FILES or {like} must be given, and only one of them", found, hint="{like=zipf} needs no data"
        )
    for name, column in (("item", item), ("count", count)):
        if files and column is None:
            raise ParameterError(
                f"{{{name}}} must name a column of FILES",
                hint="FILES hold one row for each item, with its count; a table of votes must be counted first",
            )
    if output is None:
        if quiet:
            raise ParameterError("{quiet} must go with {output}", "the plan would be lost")
        return
    if output.suffix.lower() not in _SUFFIXES:
        raise ParameterError("{output} must end in .html or .json", "not {path}", path=repr(str(output)))
    from shortlist.atomic_files import check_target

    check_target(output, force=force)


def _print(made: Plan, printed: Format) -> None:
    if printed is Format.JSON:
        sys.stdout.write(made.to_json())
        return
    if printed is Format.CSV:
        sys.stdout.write(made.to_csv())
        return
    console = make_console()
    mechanism = made.best
    title = f"The top {mechanism.k:,} of {made.histogram.d:,} items at ε = {float(mechanism.epsilon):g}"
    head = to_text(f"{title}, from {made.histogram.source}")
    head.stylize("bold")
    print_lines(console, head)
    print_lines(console, _make_table(made.forecasts, console.width))
    _print_paragraphs(console, made)
    _print_answers(console, made)
    console.print("To make the release, from your votes and a public catalogue:", style="bold")
    print(f"  {made.command}")


def _make_table(forecasts: tuple[Forecast, ...], width: int) -> Table:
    from rich import box
    from rich.table import Table

    from shortlist.planning.advice import write_share

    # A narrow screen has no room for all columns. JSON, CSV and the page hold them all.
    names = ["recall", "exact", "ℓ∞", *(["ℓ1", "bound", "ρ"] if width >= _WIDE else []), "releases"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mechanism", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for each in forecasts:
        rho = each.mechanism.guarantee.rho
        cells = {
            "recall": f"{each.recall.mean:.2f}",
            "exact": f"{'' if each.exact_is_computed else '≈'}{write_share(each.exact).replace(' ', '')}",
            "ℓ∞": f"{each.largest.low:,.0f}…{each.largest.high:,.0f}",
            "ℓ1": f"{each.total.low:,.0f}…{each.total.high:,.0f}",
            "bound": "–" if each.bound is None else f"{each.bound:,}",
            "ρ": "–" if rho is None else f"{float(rho):.2g}",
            "releases": f"{each.affordable:,}",
        }
        table.add_row(to_text(each.label), *(cells[name] for name in names))
    return table


def _print_paragraphs(console: Console, made: Plan) -> None:
    console.print("Advice", style="bold")
    for text in (made.advice.choice, made.advice.rule):
        print_lines(console, to_text(text))
    if made.advice.changes:
        print_lines(console, to_text("What would help:"))
        for change in made.advice.changes:
            print_lines(console, to_text(f"  - {change}"))
    print_lines(
        console,
        to_text(
            f"recall: the share of listed items in the true top k; exact: the probability of the true list (≈ from "
            f"{made.forecasts[0].draws:,} draws, else from the law); ℓ∞ and ℓ1: errors in votes, from the 5 % to the "
            f"95 % quantile; bound: the public bound on the error; releases: how many the budget of "
            f"{made.budget.guarantee} covers."
        ),
    )


def _print_answers(console: Console, made: Plan) -> None:
    if made.wish is None:
        return
    console.print("The smallest ε of each mechanism", style="bold")
    print_lines(console, to_text(f"so that {made.wish}, also with every larger ε that was tried:"))
    for name, answer in made.answers.items():
        print_lines(console, to_text(f"  {name}: {answer}"))
