"""`shortlist plan`: how good the list will be, before any privacy is spent."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli import options
from shortlist.cli.display import check_output, make_console, print_lines, remark, show_progress, to_text
from shortlist.cli.options import ACCURACY, BUDGET, OUTPUT, PRIVACY, WHAT, Format, option
from shortlist.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from shortlist.planning.plan import Plan

EXAMPLE = """shortlist plan --like zipf --exponent 1.1 --items 10000 --people 1e5 \\
    -k 20 --epsilon 1"""

_WIDE = 110
"""From this width on, all columns are shown."""
_WIDEST = 1000
_MORE = f"A terminal with {_WIDE} columns also shows ℓ1, the public bound, the guarantee and ρ. So does --format csv."

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILES",
        help="Counts, one row for each item: public, past or invented ones. Parquet, CSV or JSON lines.",
        show_default=False,
    ),
]
Size = Annotated[str, option(WHAT, "How many items the list is to have.", "-k", "--k", metavar="N")]
Item = Annotated[str | None, option(WHAT, "With FILES: the column of items.", metavar="COLUMN")]
Count = Annotated[str | None, option(WHAT, "With FILES: the column of counts.", metavar="COLUMN")]
Person = Annotated[
    str | None,
    typer.Option(hidden=True, is_eager=True, callback=lambda person: _refuse_votes(person)),
]
Like = Annotated[str | None, option(WHAT, "In place of FILES: invent counts of this shape.", metavar="<zipf>")]
Exponent = Annotated[
    str | None, option(WHAT, "With --like: how fast counts fall with the rank. [default: 1]", metavar="NUMBER")
]
Items = Annotated[str | None, option(WHAT, "With --like: how many items there are.", metavar="N")]
People = Annotated[str | None, option(WHAT, "With --like: how many people vote.", metavar="N")]
VotesPerPerson = Annotated[
    str | None,
    option(
        PRIVACY,
        "At most N votes of each person count, also in the counts given. With --like: N each, or 1.",
        metavar="N",
    ),
]
Sort = Annotated[
    str,
    option(
        OUTPUT,
        "What the mechanisms are sorted by, best first.",
        metavar="<recall|exact|error|total|bound|releases|name>",
    ),
]
Want = Annotated[
    str | None,
    option(
        ACCURACY,
        'Find the smallest epsilon for a wish: "recall 0.9", "exact 0.5" or "error 20".',
        metavar="WISH",
    ),
]
BudgetEpsilon = Annotated[str, option(BUDGET, "A budget: how many such releases does it cover?", metavar="NUMBER")]
BudgetDelta = Annotated[str, option(BUDGET, "The delta of that budget.", metavar="NUMBER")]
Draws = Annotated[str, option(ACCURACY, "How many lists are drawn for each mechanism.", metavar="N")]
Output = Annotated[
    Path | None,
    option(OUTPUT, "Write a page to explore (.html), or the numbers (.json).", "--output", "-o", metavar="FILE"),
]


@options.take_groups
def plan(
    k: Size,
    epsilon: options.Epsilon,
    files: Files = None,
    item: Item = None,
    count: Count = None,
    person: Person = None,
    like: Like = None,
    exponent: Exponent = None,
    items: Items = None,
    people: People = None,
    delta: options.Delta = None,
    votes_per_person: VotesPerPerson = None,
    unordered: options.Unordered = False,
    no_domain: options.NoDomain = False,
    neighbours: options.Neighbours = "add-remove",
    sort: Sort = "recall",
    want: Want = None,
    budget_epsilon: BudgetEpsilon = "10",
    budget_delta: BudgetDelta = "1e-6",
    draws: Draws = "400",
    output: Output = None,
    force: options.Force = False,
    printed: options.Printed = Format.TABLE,
    *,
    reading: options.Reading,
    quiet: options.Quiet = False,
) -> None:
    """Forecast how good the list will be, for each mechanism, before any privacy is spent.

    The plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or
    invented.
    """
    _check_options(files, item=item, count=count, like=like, output=output, force=force, quiet=quiet)
    with show_progress(quiet=quiet) as step:
        from shortlist.planning.advice import NOT_PRIVATE
        from shortlist.planning.plan import plan as make_plan

        size: Any = options.read_sizes(k)
        counts: Any = None
        if files:
            from shortlist.planning.inputs import read_count_files

            step("Reading the counts")
            counts = read_count_files(reading.describe(files), item=str(item), count=str(count))
        made = make_plan(
            counts,
            k=size,
            epsilon=epsilon,
            delta=delta,
            votes_per_person=None if votes_per_person is None else _to_number(votes_per_person),
            ordered=not unordered,
            neighbours=neighbours,
            without_domain=no_domain,
            like=like,
            exponent=exponent,
            items=items,
            people=people,
            sort=sort,
            want=want,
            budget_epsilon=budget_epsilon,
            budget_delta=budget_delta,
            draws=_to_number(draws),
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
        _print_plan(made, printed)


def _refuse_votes(person: str | None) -> None:
    if person is not None:
        raise ParameterError(
            "FILES must be counts, one row for each item, with `item` and `count`",
            "plan reads no votes, so it has no `person`",
            hint="count the votes of each item first, or plan without data: `like=zipf`",
        )


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
            "FILES or `like` must be given, and only one of them", found, hint="`like=zipf` needs no data"
        )
    for name, column in (("item", item), ("count", count)):
        if files and column is None:
            raise ParameterError(
                f"`{name}` must name a column of FILES",
                hint="FILES hold one row for each item, with its count; a table of votes must be counted first",
            )
    if like is not None and count is not None:
        raise ParameterError("`count` must go with FILES", "`like` invents the counts")
    if output is None:
        if quiet:
            raise ParameterError("`quiet` must go with `output`", "the plan would be lost")
        return
    check_output(output, (".html", ".json"), force=force)


def _to_number(text: str) -> Any:
    """Read a whole number. Other text is passed on, and the library refuses it with the name of the parameter."""
    return int(text) if re.fullmatch(r"\s*-?\d{1,18}\s*", text) else text


def _print_plan(made: Plan, printed: Format) -> None:
    """Print a plan on stdout."""
    if printed is Format.JSON:
        sys.stdout.write(made.to_json())
        return
    if printed is Format.CSV:
        sys.stdout.write(made.to_csv())
        return
    from shortlist.planning.advice import explain_limit

    console, best = make_console(), made.best
    head = f"The top {best.k:,} of {made.histogram.d:,} items at ε = {float(best.epsilon):g}"
    title = to_text(f"{head}, from {made.histogram.source}")
    title.stylize("bold")
    print_lines(console, title)
    print_lines(console, to_text(f"Allowed: {made.constraints.describe()}."))
    _print_whole(console, _make_table(made.cells, console.width))
    _print_advice(console, made)
    _print_answers(console, made)
    _print_legend(console, made)
    catalogue = " and a public catalogue" if best.needs_domain else ""
    at = "" if made.wish is None else f" at ε = {float(best.epsilon):g}"
    _print_heading(console, f"To make the release{at}, from your votes{catalogue}:")
    limit = explain_limit(made.constraints.votes_per_person)
    if limit is not None:
        print_lines(console, to_text(limit))
    print(f"  {made.command}")
    if made.wish_command is not None:
        _print_heading(console, "To make the release that you want:")
        print(f"  {made.wish_command}")


def _make_table(cells: Mapping[str, Mapping[str, str]], width: int) -> Table:
    """Lay out the forecasts."""
    from rich import box
    from rich.table import Table

    hidden = {"range"} if width >= _WIDE else {"range", "ℓ1", "bound", "guarantee", "ρ"}
    names = [name for name in next(iter(cells.values())) if name not in hidden]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mechanism", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for mechanism, row in cells.items():
        table.add_row(to_text(mechanism), *(row[name] for name in names))
    return table


def _print_whole(console: Console, table: Table) -> None:
    """Print a table as wide as it is: a number that is cut off would be read as another number."""
    from rich.measure import Measurement

    usual = console.width
    console.width = max(usual, Measurement.get(console, console.options.update(max_width=_WIDEST), table).maximum)
    print_lines(console, table)
    console.width = usual


def _print_heading(console: Console, text: str) -> None:
    console.print()
    console.print(text, style="bold")


def _print_advice(console: Console, made: Plan) -> None:
    from rich.table import Table

    console.print("Advice", style="bold")
    for text in (made.advice.choice, made.advice.rule):
        print_lines(console, to_text(text))
    if made.advice.changes:
        print_lines(console, to_text("What would help:"))
        changes = Table.grid(padding=(0, 1))
        for change in made.advice.changes:
            changes.add_row("  -", to_text(change))
        print_lines(console, changes)


def _print_answers(console: Console, made: Plan) -> None:
    if made.wish is None:
        return
    from shortlist.planning.advice import explain_answers

    _print_heading(console, "The smallest ε for your wish")
    print_lines(console, to_text(explain_answers(made.wish, made.answers)))
    for name, answer in made.answers.items():
        print_lines(console, to_text(f"  {name}: {answer}"))
    print_lines(console, to_text("It also holds at every larger ε that was tried."))


def _print_legend(console: Console, made: Plan) -> None:
    _print_heading(console, "How to read the table")
    short = "items: how many items are listed on average; " if made.constraints.without_domain else ""
    hint = "" if console.width >= _WIDE else f" {_MORE}"
    wide = "ℓ1: the sum of these errors; bound: the public bound on the error; " if console.width >= _WIDE else ""
    promise = str(made.budget.guarantee).partition(" for")[0]
    print_lines(
        console,
        to_text(
            f"{short}recall: the share of the true top k that is listed; exact: the probability of the true list "
            f"(≈ from {made.forecasts[0].draws:,} draws, else from the law); ℓ∞: the largest error of a place in "
            f"votes, as 5 %, 50 % and 95 % quantile; {wide}releases: how many a budget of {promise} covers.{hint}"
        ),
    )
