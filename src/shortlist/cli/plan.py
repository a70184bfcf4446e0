"""`shortlist plan`: how good the list will be, before any privacy is spent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from shortlist.cli import options
from shortlist.cli.display import remark, show_progress
from shortlist.cli.inputs import describe_files
from shortlist.cli.options import Format
from shortlist.cli.plan_display import print_plan
from shortlist.errors import ParameterError

EXAMPLE = """shortlist plan --like zipf --exponent 1.1 --items 10000 --people 1e5 \\
    -k 20 --epsilon 1"""

_SUFFIXES = (".html", ".json")

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILES",
        help="Counts, one row for each item: public, past or invented ones. Parquet, CSV or JSON lines.",
        show_default=False,
    ),
]
Size = Annotated[str, typer.Option("-k", "--k", metavar="N", help="How many items the list shall have.")]
Item = Annotated[str | None, typer.Option(metavar="COLUMN", help="With FILES: the column of items.")]
Count = Annotated[str | None, typer.Option(metavar="COLUMN", help="With FILES: the column of counts.")]
Person = Annotated[
    str | None,
    typer.Option(hidden=True, is_eager=True, callback=lambda person: _refuse_votes(person)),
]
Like = Annotated[str | None, typer.Option(metavar="<zipf>", help="In place of FILES: invent counts of this shape.")]
Exponent = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="With --like: how fast counts fall with the rank. [default: 1]")
]
Items = Annotated[str | None, typer.Option(metavar="N", help="With --like: how many items there are.")]
People = Annotated[str | None, typer.Option(metavar="N", help="With --like: how many people vote.")]
VotesPerPerson = Annotated[
    str | None,
    typer.Option(
        metavar="N", help="At most N votes of each person count, also in the counts given. With --like: N each, or 1."
    ),
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
Draws = Annotated[str, typer.Option(metavar="N", help="How many lists are drawn for each mechanism.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write a page to explore (.html), or the numbers (.json)."),
]
Printed = Annotated[Format, typer.Option("--format", help="What is printed.")]


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
    any_order: options.AnyOrder = False,
    no_domain: options.NoDomain = False,
    neighbours: options.Neighbours = "add-remove",
    sort: Sort = "recall",
    want: Want = None,
    budget_epsilon: BudgetEpsilon = "10",
    budget_delta: BudgetDelta = "1e-6",
    draws: Draws = "400",
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
    with show_progress(quiet=quiet) as step:
        from shortlist.planning.advice import NOT_PRIVATE
        from shortlist.planning.plan import plan as make_plan

        size: Any = options.read_sizes(k)
        counts: Any = None
        if files:
            from shortlist.planning.inputs import read_count_files

            step("Reading the counts")
            described = describe_files(files, input_format, encoding, no_header, delimiter)
            counts = read_count_files(described, item=str(item), count=str(count))
        made = make_plan(
            counts,
            k=size,
            epsilon=epsilon,
            delta=delta,
            votes_per_person=None if votes_per_person is None else _to_number(votes_per_person),
            ordered=not any_order,
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
        print_plan(made, printed)


def _refuse_votes(person: str | None) -> None:
    if person is not None:
        raise ParameterError(
            "FILES must be counts, one row for each item, with {item} and {count}",
            "plan reads no votes, so it has no {person}",
            hint="count the votes of each item first, or plan without data: {like=zipf}",
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
            "FILES or {like} must be given, and only one of them", found, hint="{like=zipf} needs no data"
        )
    for name, column in (("item", item), ("count", count)):
        if files and column is None:
            raise ParameterError(
                f"{{{name}}} must name a column of FILES",
                hint="FILES hold one row for each item, with its count; a table of votes must be counted first",
            )
    if like is not None and count is not None:
        raise ParameterError("{count} must go with FILES", "{like} invents the counts")
    if output is None:
        if quiet:
            raise ParameterError("{quiet} must go with {output}", "the plan would be lost")
        return
    if output.suffix.lower() not in _SUFFIXES:
        raise ParameterError("{output} must end in .html or .json", "not {path}", path=repr(str(output)))
    from shortlist.atomic_files import check_target

    check_target(output, force=force)


def _to_number(text: str) -> Any:
    """Read a whole number. Other text is passed on, and the library refuses it with the name of the parameter."""
    return int(text) if re.fullmatch(r"\s*-?\d{1,18}\s*", text) else text
