"""A plan on the terminal: the table, the advice, the answers to a wish, and the command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from shortlist.cli.display import make_console, print_lines, to_text
from shortlist.cli.options import Format

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from shortlist.planning.forecast import Forecast
    from shortlist.planning.plan import Plan

_WIDE = 110
"""From this width on, all columns are shown."""
_WIDEST = 1000
_MORE = f"A terminal with {_WIDE} columns also shows ℓ1, the public bound, the guarantee and ρ. So does --format csv."


def print_plan(made: Plan, printed: Format) -> None:
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
    _print_whole(console, _make_table(made.forecasts, console.width, short=made.constraints.without_domain))
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


def _make_table(forecasts: tuple[Forecast, ...], width: int, *, short: bool) -> Table:
    """Lay out the forecasts. With `short`, lists may have fewer than k items, and a column says how many."""
    from rich import box
    from rich.table import Table

    from shortlist.planning.advice import write_share

    names = [*(["items"] if short else []), "recall", "exact", "ℓ∞"]
    names += ["ℓ1", "bound", "guarantee", "ρ"] if width >= _WIDE else []
    names.append("releases")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mechanism", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for each in forecasts:
        rho = each.mechanism.guarantee.rho
        cells = {
            "items": f"{each.length.mean:,.0f}",
            "recall": f"{each.recall.mean:.2f}",
            "exact": f"{'' if each.exact_is_computed else '≈'}{write_share(each.exact).replace(' ', '')}",
            "ℓ∞": f"{each.largest.low:,.0f}…{each.largest.middle:,.0f}…{each.largest.high:,.0f}",
            "ℓ1": f"{each.total.low:,.0f}…{each.total.middle:,.0f}…{each.total.high:,.0f}",
            "bound": "–" if each.bound is None else f"{each.bound:,}",
            "guarantee": each.promise,
            "ρ": "–" if rho is None else f"{float(rho):.2g}",
            "releases": f"{each.affordable:,}",
        }
        table.add_row(to_text(each.label), *(cells[name] for name in names))
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
