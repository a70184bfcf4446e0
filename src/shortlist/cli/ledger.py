"""`shortlist ledger`: a privacy budget in a file or a database, what was charged to it, and what is left."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shortlist
from shortlist.cli.app import command, make_group
from shortlist.cli.display import check_output, print_lines, remark, write_output
from shortlist.cli.options import (
    ARGUMENTS,
    BUDGET,
    FILES,
    PROTECTED,
    QUIET,
    REQUEST,
    REQUIRED,
    WHAT,
    WITHOUT_VOTES,
    Option,
    Options,
    read_request,
    under,
    write_to,
)
from shortlist.cli.process import write_option
from shortlist.errors import BudgetError, ParameterError, refuse_given
from shortlist.votes.failures import hide_secrets

if TYPE_CHECKING:
    from shortlist.ledger.statement import Bar

_BAR = 32
"""The width of a bar, which leaves space for its label and its numbers in 60 columns."""
_MOST_TIMES = 100_000

_CREATE = """shortlist ledger create budget.db --epsilon 10 --delta 1e-6 \\
    --population "customers EU\""""
_SHOW = "shortlist ledger create budget.db --epsilon 10\nshortlist ledger show budget.db --output ledger.json"
_AFFORD = "shortlist ledger create budget.db --epsilon 10\nshortlist ledger afford budget.db -k 10 --epsilon 0.5"
_REPORT = """shortlist ledger create budget.db --epsilon 10
shortlist ledger report budget.db --purpose "a weekly chart" \\
    --output report.html"""

group = make_group(
    "ledger", "Keep a privacy budget that releases are charged to.", "Keep a privacy budget for releases.", _CREATE
)

_LEDGER: Options = under(
    ARGUMENTS, path=Option("LEDGER | The file of the ledger, or postgresql://user@host/database?schema=name.", REQUIRED)
)


@command(
    group,
    _CREATE,
    _LEDGER,
    under(
        BUDGET,
        epsilon=Option("NUMBER | The epsilon that all releases may have together.", REQUIRED),
        delta=Option("NUMBER | The delta that all releases may have together.", "0"),
        per="<day|week|month|quarter|year> | Give each period the budget. It protects one person in one period.",
        total_epsilon="NUMBER | With --per: the epsilon of all periods together, for the whole person.",
        total_delta="NUMBER | With --total-epsilon: its delta. [default: --delta]",
        time_zone="NAME | With --per: the zone in which periods begin, say Europe/Berlin. [default: UTC]",
        accounting=(
            "<basic|zcdp|both> | How releases are added up; fixed once created. [default: both, or basic without "
            "--delta]"
        ),
        basic_share="NUMBER | With both: the share of --delta for basic. [default: 1/2]",
        rho_delta_share=("NUMBER | The share of zcdp's --delta for releases whose rho needs a delta. [default: 1/10]"),
        population="TEXT | Whose data it is, say 'customers EU'.",
    ),
    PROTECTED,
    QUIET,
    summary="Create a ledger.",
)
def create(*, path: str, quiet: bool, **budget: Any) -> None:
    """Create a ledger in a new file, or in a schema of a PostgreSQL database.

    For a database, the statements are printed that let a role charge releases, and another one read the ledger.
    """
    from shortlist.ledger.budget import Amount

    ledger = shortlist.Ledger.create(path, **budget)
    calendar = ledger.calendar
    each = "" if calendar is None else f"in each {calendar.every} ({calendar.time_zone}), "
    budgets = {f"created {hide_secrets(path)}: {each}": ledger.budget}
    if calendar is not None and calendar.total is not None:
        budgets["in total: "] = calendar.total
    for words, made in budgets.items():
        remark(f"{words}{made.guarantee}; accounting: {' and '.join(made.list_left(Amount()))}")
        if made.accounting == "both":
            remark(f"limits: {made.write_left(Amount())}")
    for statement in ledger.store.grants:
        print(statement)


@command(group, _SHOW, _LEDGER, write_to("Write everything as JSON."), QUIET)
def show(*, path: str, output: Path | None, force: bool, quiet: bool) -> None:
    """Show each charge, what is spent and what is left. With --quiet, only check that the ledger can be read."""
    from shortlist.ledger.statement import Statement

    check_output(output, (".json",), force=force)
    statement = Statement.read(shortlist.Ledger.open(path))
    write_output(output, json.dumps(statement.to_dict(), indent=2, ensure_ascii=False) + "\n", force=force)
    # Lines, not a table: a table of charges is wider than a narrow terminal.
    for line in statement.summary():
        print_lines(line)
    _draw(statement.draw(), statement.chart_title)
    for charge in statement.charges:
        release = "not finished" if charge.release is None else f"release {charge.id[:12]}"
        print()
        print_lines(f"Charge {charge.number:,}, {charge.made:%Y-%m-%d %H:%M} UTC, {release}")
        about = f"about {charge.period}, " if charge.period else ""
        print_lines(f"  {about}{charge.mechanism}, {str(charge.guarantee).partition(' for one ')[0]}")
        print_lines(f"  by {charge.user} on {charge.host}{f', role {charge.role}' if charge.role else ''}")
        if charge.note:
            print_lines(f"  {charge.note}")
        if charge.once:
            print_lines(f"  once: {charge.once}")


@command(
    group,
    _REPORT,
    _LEDGER,
    under(
        WHAT,
        purpose="TEXT | Why the lists are published.",
        controller="TEXT | Who is responsible for the data.",
        contact="TEXT | Who answers questions.",
        data="TEXT | What the votes are, and where they come from.",
        recipients="TEXT | Who gets the lists.",
    ),
    under(FILES, audit=Option("FILE | The file that `shortlist audit --output audit.json` wrote.", kind=Path)),
    write_to("Write the page to this file: .html."),
    QUIET,
    summary="Write the page that a privacy officer signs.",
)
def report(*, path: str, output: Path | None, force: bool, quiet: bool, **said: Any) -> None:
    """Write the page that a privacy officer signs: what is promised, spent and vouched for, on two printed pages.

    What is not given is a gap to fill in by hand. The page needs no network.
    """
    if output is None:
        raise ParameterError("`output` must name the page", "it was not given", hint="pass `output='report.html'`")
    check_output(output, (".html",), force=force)
    shortlist.Ledger.open(path).report(output, **said, force=force)
    remark(f"wrote {output}")


def _draw(bars: list[Bar], title: str) -> None:
    """Draw which share of the budget was spent, time by time. Without a terminal that has blocks, in hyphens."""
    if not bars:
        return
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    chart = Table.grid(padding=(0, 1))
    for each in bars:
        share = math.ceil(each.share * 100)  # against the spender
        bar = ProgressBar(total=100, completed=share, width=_BAR)
        chart.add_row(each.label, bar, f"{share} %", f"{each.charges:,}")
    for column in chart.columns[2:]:
        column.justify = "right"
    print()
    print_lines(f"{title}, and the number of charges:")
    print_lines(chart)


@command(
    group,
    _AFFORD,
    _LEDGER,
    REQUEST,
    WITHOUT_VOTES,
    under(
        BUDGET,
        period="PERIOD | In a ledger with periods: the one to ask for, say 2026-W46.",
        times="N | Say what N releases like this cost together, and whether the budget covers them.",
    ),
)
def afford(
    *, path: str, by: str | None, group_count: int | None, period: str | None, times: int | None, **asked: Any
) -> None:
    """Print how many more releases like this one the budget covers.

    The options are those of select. --no-domain stands for a select without --domain. All lists of a family are one
    release: --by, with --group-count in place of --groups, asks for one. --times 52 asks for a year of weekly releases.
    In a ledger with periods, the number is for one --period, or for one without charges, and --times is for as many
    periods. If none is covered, a remark on stderr says why.
    """
    from shortlist.privacy.numbers import read_whole, write_count
    from shortlist.terms import Terms

    ledger = shortlist.Ledger.open(path)
    if asked["without_domain"] and asked["delta"] is None:
        raise ParameterError("`delta` must go with `without_domain`", "it was not given", hint="try `delta=1e-6`")
    # Without a number of groups, a person may be in as many as the limits allow.
    groups = 0 if by is not None else None
    if group_count is not None:
        groups = read_whole(group_count, name="group_count")
    if asked["max_weight"] is None:
        refuse_given({"weight_unit": asked["weight_unit"]}, "`max_weight`")
    elif asked["weight_unit"] is None:
        asked["weight_unit"] = "units"
    guarantee = Terms.read(**read_request(asked), groups=groups, persons_counted=asked["sensitivity"] == 1).guarantee
    number = ledger.afford(guarantee, period)
    if times is not None:
        _say_together(ledger, guarantee, read_whole(times, name="times"), number)
        return
    # A number alone is for scripts, and a script reads from a pipe.
    print(f"{write_count(number, 'more releases')} like this" if sys.stdout.isatty() else number)
    if not number:
        try:
            ledger.check(guarantee, period)
        except BudgetError as refusal:
            remark("no release like this one fits into what is left of the budget")
            for line in refusal.render(write_option).splitlines():
                remark(line)


def _say_together(ledger: shortlist.Ledger, guarantee: shortlist.Guarantee, times: int, covered: int) -> None:
    """Say what some equal releases promise together, and how many of them the budget covers."""
    from shortlist.ledger.statement import add_at, write_pair

    if times > _MOST_TIMES:
        raise ParameterError(f"`times` must be at most {_MOST_TIMES}", f"not {times}")
    whole = ledger.whole
    if whole is not None and ledger.calendar is not None and covered:  # one release in each of as many periods
        covered = whole.afford(ledger.spent, whole.restate(guarantee))
    together = add_at([guarantee] * times, (whole or ledger.budget).guarantee.delta)
    print_lines(f"{times:,} of these{' together' * (times > 1)}: {write_pair(together)}. {together.in_words}")
    if whole is None:
        print_lines(f"There is no total. The budget of each period covers {covered:,} of these.")
        return
    some = f"{covered:,} of {times:,}" if covered < times else f"all {times:,}, and {covered - times:,} more"
    print_lines(f"Left: {whole.write_left(ledger.spent)}. The budget covers {some}.")
    promised = whole.guarantee
    if covered < times and together.epsilon <= promised.epsilon and together.delta <= promised.delta:
        print_lines(
            "The sum is within the budget, but earlier releases count, too, and each accounting has a share of δ."
        )
