"""`shortlist plan`: how good the list will be, before any privacy is spent."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.cli.app import app, command
from shortlist.cli.display import (
    WIDEST,
    check_output,
    check_quiet,
    make_console,
    make_table,
    print_lines,
    remark,
    show_progress,
    to_text,
)
from shortlist.cli.options import (
    ACCURACY,
    ARGUMENTS,
    BUDGET,
    OUTPUT,
    PRINTED,
    PRIVACY,
    QUIET,
    READING,
    REQUEST,
    REQUIRED,
    WHAT,
    WITHOUT_VOTES,
    Format,
    Option,
    complete_mechanism,
    describe_files,
    read_sizes,
    under,
    write_to,
)
from shortlist.cli.process import write_option
from shortlist.errors import ParameterError, write_names

if TYPE_CHECKING:
    from shortlist.planning.plan import Plan

_EXAMPLE = """shortlist plan --like zipf --exponent 1.1 --items 10000 --people 1e5 \\
    -k 20 --epsilon 1"""

_WIDE = 110
"""From this width on, all columns are shown."""
_ONLY_WIDE = ("ℓ1", "bound", "guarantee", "ρ")


@command(
    app,
    _EXAMPLE,
    under(
        ARGUMENTS,
        files=Option(
            "FILES | Counts, one row for each item: public, past or invented ones. Parquet, CSV or JSON lines.",
            kind=list[str],
        ),
    ),
    under(
        WHAT,
        k=Option("N | How many items the list is to have.", REQUIRED, names=("-k", "--k")),
        item="COLUMN | With FILES: the column of items.",
        count="COLUMN | With FILES: the column of counts.",
        like="<zipf> | In place of FILES: invent counts of this shape.",
        exponent="NUMBER | With --like: how fast counts fall with the rank. [default: 1]",
        items="N | With --like: how many items there are.",
        people="N | With --like: how many people vote.",
        votes_cast="NUMBER | With --group-count: how many votes a person casts on average.",
        groups_visited="N | With --group-count: in how many groups a person may vote.",
    ),
    under(None, person="COLUMN | "),
    {name: REQUEST[name] for name in ("unordered", "epsilon", "rho", "delta", "neighbours")},
    under(
        PRIVACY,
        votes_per_person=(
            "N | At most N votes of each person count, also in the counts given. With --like: N each, or 1."
        ),
    ),
    WITHOUT_VOTES,
    under(
        ACCURACY,
        mechanism=Option(
            "NAME | Forecast this mechanism of another package, too; may be repeated.",
            kind=list[str],
            complete=complete_mechanism,
        ),
        want='WISH | Find the smallest epsilon for a wish: "recall 0.9", "exact 0.5" or "error 20".',
        draws=Option("N | How many lists are drawn for each mechanism.", 400),
    ),
    under(
        BUDGET,
        budget_epsilon=Option("NUMBER | A budget: how many such releases does it cover?", "10"),
        budget_delta=Option("NUMBER | The delta of that budget.", "1e-6"),
    ),
    READING,
    under(
        OUTPUT,
        sort=Option(
            "<recall|exact|error|total|bound|releases|name> | What the mechanisms are sorted by, best first.",
            "recall",
        ),
    ),
    write_to("Write a page to explore (.html), or the numbers (.json)."),
    PRINTED,
    QUIET,
    summary="Forecast how good a list will be.",
)
def plan(
    *,
    k: str,
    files: list[str] | None,
    count: str | None,
    person: str | None,
    unordered: bool,
    output: Path | None,
    force: bool,
    printed: Format,
    quiet: bool,
    **asked: Any,
) -> None:
    """Forecast how good the list will be, for each mechanism, before any privacy is spent.

    The plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or
    invented. Counts may be sums of weights, with --max-weight.

    A list is planned for each group with --by and FILES, or with --group-count and --like. In the latter case, limits
    that are not given are chosen.
    """
    _check_inputs(files, item=asked["item"], count=count, person=person, like=asked["like"])
    check_quiet(quiet, output, "the plan would be lost", "output='plan.html'")
    check_output(output, (".html", ".json"), force=force)
    if asked["rho"] is not None and output is not None and output.suffix.lower() == ".html":
        from shortlist.planning.plan import refuse_page

        raise refuse_page()
    with show_progress() as step:
        from shortlist.planning.advice import NOT_PRIVATE
        from shortlist.planning.plan import plan as make_plan

        size: Any = read_sizes(k)
        reading, counts = [asked.pop(name) for name in READING], None
        if files:
            from shortlist.planning.counts import read_count_files

            step("Reading the counts")
            by = asked["by"] or ()
            counts = read_count_files(describe_files(files, *reading), item=asked["item"], count=str(count), by=by)
        made = make_plan(counts, k=size, ordered=not unordered, **asked, progress=step)
        if output is not None and output.suffix.lower() == ".json":
            made.to_json(output, force=force)
        elif output is not None:
            made.to_html(output, force=force, progress=step)
    if not made.planner.counts.invented:
        remark(NOT_PRIVATE)
    if output is not None:
        remark(f"wrote {output}")
    if quiet:
        return
    if printed is Format.TABLE:
        _print_plan(made)
    else:
        sys.stdout.write(made.to_json() if printed is Format.JSON else made.to_csv())


def _check_inputs(
    files: list[str] | None, *, item: str | None, count: str | None, person: str | None, like: str | None
) -> None:
    """Refuse options that do not fit each other, before anything is read."""
    if person is not None:
        raise ParameterError(
            "FILES must be counts, one row for each item, with `item` and `count`",
            "plan reads no votes, so it has no `person`",
            hint="count the votes of each item first, or plan without data: `like=zipf`",
        )
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


def _print_plan(made: Plan) -> None:
    from rich.table import Table

    from shortlist.planning.advice import explain_answers

    best, advice, wide = made.best, made.advice, make_console().width >= _WIDE
    counts, constraints = made.planner.counts, made.planner.constraints
    each = "" if counts.groups is None else f" in each of {counts.groups:,} groups"
    budget = f"ε = {float(best.epsilon):g}" if best.rho is None else f"ρ = {float(best.rho):g}"
    head = f"The top {best.k:,} of {counts.d:,} items{each} at {budget}"
    print_lines(f"{head}, from {counts.source}", bold=True)
    print_lines(f"Allowed: {constraints.describe()}.")
    # As wide as it is: a number that is cut off would be read as another number.
    columns = _list_columns(made, wide=wide)
    print_lines(make_table(columns, numbers=True), width=WIDEST)
    print_lines("Advice", bold=True)
    print_lines(advice.choice)
    print_lines(advice.rule)
    if advice.changes:
        print_lines("What would help:")
        changes = Table.grid(padding=(0, 1))
        for change in advice.changes:
            changes.add_row("  -", to_text(change))
        print_lines(changes)
    if made.wish is not None:
        _print_heading("The smallest ε for your wish")
        print_lines(explain_answers(made.wish, made.answers))
        for name, answer in made.answers.items():
            print_lines(f"  {name}: {answer}")
        print_lines("It also holds at every larger ε that was tried.")
    _print_heading("How to read the table")
    print_lines(_write_legend(made, columns))
    catalogue = " and a public catalogue" if best.needs_domain else ""
    at = "" if made.wish is None else f" at ε = {float(best.epsilon):g}"
    _print_heading(f"To make the release{at}, from your votes{catalogue}:")
    for note in made.notes:
        print_lines(write_names(note, write_option))
    print(f"  {made.command}")
    if made.wish_command is not None:
        _print_heading("To make the release that you want:")
        print(f"  {made.wish_command}")


def _print_heading(text: str) -> None:
    print()
    print_lines(text, bold=True)


def _list_columns(made: Plan, *, wide: bool) -> dict[str, list[str]]:
    """List the columns of the forecasts that are shown."""
    hidden = {"range", *(() if wide else _ONLY_WIDE)}
    if made.planner.constraints.groups is not None and not wide:
        hidden |= {"exact", "ℓ∞"}
    names = [name for name in next(iter(made.cells.values())) if name not in hidden]
    shown = {name: [row[name] for row in made.cells.values()] for name in names}
    return {"mechanism": list(made.cells), **shown}


def _write_legend(made: Plan, columns: Collection[str]) -> str:
    """Say what each column is that is shown, and that a wider terminal shows more."""
    promise, draws = made.planner.promise, made.forecasts[0].draws
    meanings = {
        "groups": "groups, votes: at most so many of each person",
        "kept": "kept: the share of the votes that these limits leave",
        "large": "large, middle, small: the recall in each third of the groups, by their votes",
        "items": "items: how many items are listed on average",
        "recall": "recall: the share of the true top k that is listed",
        "exact": f"exact: the probability of the true list (≈ from {draws:,} draws, else from the law)",
        "ℓ∞": "ℓ∞: the largest error of a place in votes, as 5 %, 50 % and 95 % quantile",
        "ℓ1": "ℓ1: the sum of these errors",
        "bound": "bound: the public bound on the error",
        "releases": f"releases: how many a budget of {promise} covers",
    }
    shown = "; ".join(text for name, text in meanings.items() if name in columns)
    more = "exact, ℓ∞, " * ("exact" not in columns) + "ℓ1, the public bound, the guarantee and ρ"
    wide = "" if "ρ" in columns else f" A terminal with {_WIDE} columns also shows {more}. So does --format csv."
    return f"{shown}.{wide}"
