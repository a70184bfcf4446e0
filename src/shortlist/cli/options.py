"""The options of commands: each is defined once, under the heading where a help shows it.

Options that belong together are a group. A command takes groups and options of its own, and a function of the library
takes the values by the same names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from shortlist.cli.process import report_errors, silence
from shortlist.errors import ParameterError

_HEADINGS = ("Arguments", "What", "Privacy", "Accuracy", "Budget", "Files", "Output", "Options")
ARGUMENTS, WHAT, PRIVACY, ACCURACY, BUDGET, FILES, OUTPUT, _OTHERS = _HEADINGS

REQUIRED = inspect.Parameter.empty
"""The default of an option that must be given."""


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class FileFormat(StrEnum):
    """The format of a file."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Option:
    """An option or an argument: its heading and text in the help, what a value looks like, its type and its default.

    It is called like the parameter of the library, unless `names` says otherwise. Without a heading, it is hidden. Text
    that is no whole number is passed on, and the library refuses it with the name of the parameter.
    """

    heading: str | None
    text: str
    metavar: str | None = None
    kind: Any = str
    default: Any = None
    names: tuple[str, ...] = ()
    complete: Callable[[str], list[str]] | None = None

    def make_parameter(self, name: str) -> inspect.Parameter:
        """Describe the option as Typer reads it."""
        settings: dict[str, Any] = {"help": self.text, "metavar": self.metavar, "autocompletion": self.complete}
        if self.kind is int:
            settings["parser"] = _read_number
        if self.heading == ARGUMENTS:
            info = typer.Argument(show_default=False, **settings)
        else:
            names = self.names or (f"--{name.replace('_', '-')}",)
            info = typer.Option(*names, rich_help_panel=self.heading, hidden=self.heading is None, **settings)
        default = False if self.kind is bool else self.default
        kind: Any = self.kind | None if default is None else self.kind
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
        )


Options = Mapping[str, Option]


class Command(TyperCommand):
    """A command whose help has headings. An option that is given twice is an error: one of the two would be lost."""

    def list_options(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """List the options under their headings: how each is written, and what it does."""
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
        for each in self.get_params(ctx):
            shown = each.get_help_record(ctx)
            if shown is not None:
                usual = ARGUMENTS if each.param_type_name == "argument" else _OTHERS
                groups[getattr(each, "rich_help_panel", None) or usual].append(shown)
        return {heading: options for heading, options in groups.items() if options}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under their headings, as plain text."""
        for heading, options in self.list_options(ctx).items():
            with formatter.section(heading):
                formatter.write_dl(options)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is repeated, or whose value is the next option. Then read the arguments."""
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        names = {name for each in self.get_params(ctx) if each.param_type_name == "option" for name in each.opts}
        for each in order:
            if each.param_type_name != "option" or getattr(each, "is_flag", False):
                continue
            if not each.multiple and order.count(each) > 1:
                several = {"label": "title,artist", "by": "country,week"}.get(each.name or "")
                hint = several and f"name several columns in one: {each.opts[0]} {several}"
                raise ParameterError(f"{each.opts[0]} must be given once", "it was given twice", hint=hint)
            found = values[each.name] if each.multiple else [values[each.name]]
            for value in names.intersection(found):
                raise ParameterError(f"{each.opts[0]} must have a value", f"the option {value} follows it")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. With --quiet, nothing is printed but errors."""
        with silence(ctx.params.get("quiet", False)):
            return super().invoke(ctx)


class _Commands(TyperGroup):
    """Commands whose errors become a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with report_errors():
            return super().invoke(ctx)


def format_example(command: str) -> str:
    r"""Lay a command out as the last lines of a help. The character \b keeps its lines as they are.

    >>> print(format_example("shortlist demo").lstrip("\b"))
    <BLANKLINE>
    Example:
      shortlist demo
    """
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in command.splitlines())


# Plain help is three times faster than help drawn by rich, and an example in it can be copied.
app = typer.Typer(
    cls=_Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=format_example("shortlist demo"),
)


def make_group(name: str, text: str, summary: str, example: str) -> typer.Typer:
    """Make a group of commands under one name."""
    group = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help=text, epilog=format_example(example))
    app.add_typer(group, name=name, short_help=summary)
    return group


def command(
    group: typer.Typer, example: str, options: Options, *, summary: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command of a group, with options. Typer reads them from its signature."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        parameters = [each.make_parameter(name) for name, each in options.items()]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {each.name: each.annotation for each in parameters}
        return group.command(cls=Command, short_help=summary, epilog=format_example(example))(function)

    return register


def complete_mechanism(incomplete: str) -> list[str]:
    """List the mechanisms whose names begin like this, for the completion of a shell."""
    from shortlist.mechanisms import MECHANISMS, find_registered

    return [name for name in (*MECHANISMS, *find_registered()) if name.startswith(incomplete)]


def _complete_neighbours(incomplete: str) -> list[str]:
    from shortlist.privacy import Neighbours

    return [str(name) for name in Neighbours if name.startswith(incomplete)]


PROTECTED: Options = {
    "neighbours": Option(
        PRIVACY,
        "What one person may change: add-remove is presence in the data, replace is all votes of the person.",
        "<add-remove|replace>",
        default="add-remove",
        complete=_complete_neighbours,
    ),
    "unit": Option(
        PRIVACY, "The word for one person in the guarantee, say user or household.", "WORD", default="person"
    ),
}
"""Who is protected."""

REQUEST: Options = {
    "k": Option(
        WHAT,
        "How many items to release; with --unordered also a range of sizes, say 5-10.",
        "N",
        default=REQUIRED,
        names=("-k", "--k"),
    ),
    "unordered": Option(WHAT, "Release the items without their order. The list is more accurate.", kind=bool),
    "epsilon": Option(PRIVACY, "The privacy loss: smaller is more private, and 1 is common.", "NUMBER"),
    "rho": Option(PRIVACY, "In its place: the rho (zCDP) of the list, for a budget of many lists.", "NUMBER"),
    "delta": Option(
        PRIVACY,
        "Allow a failure probability δ, far below 1 divided by the number of people: say 1e-9 for a million. Lists are "
        "more accurate for large k.",
        "NUMBER",
    ),
    "votes_per_person": Option(
        PRIVACY,
        "Count at most N items of each person. A hash of the vote decides which. With auto, a twentieth of epsilon "
        "chooses N, near a quantile of the votes per person.",
        "N|auto",
        int,
    ),
    "sensitivity": Option(PRIVACY, "With --count: one person adds at most N to a count.", "N", int, 1),
    **PROTECTED,
    "mechanism": Option(
        ACCURACY,
        "The mechanism that chooses the items; see `shortlist mechanisms`.",
        "NAME",
        default="auto",
        complete=complete_mechanism,
    ),
    "beta": Option(ACCURACY, "The failure probability of fastjoint.", "NUMBER"),
    "k_bar": Option(ACCURACY, "Among how many of the most-voted items limited-domain chooses.", "N", int),
    "noise": Option(
        ACCURACY, "The law of the noise of threshold. [default: the one with the lower threshold]", "<gaussian|laplace>"
    ),
    "assess": Option(ACCURACY, "Spend this epsilon on top, for a bound on the error that uses these data.", "NUMBER"),
    "counts_epsilon": Option(ACCURACY, "Spend this epsilon on top, for noisy counts of the items.", "NUMBER"),
    "counts_rho": Option(ACCURACY, "In its place: a rho (zCDP), with --counts-delta.", "NUMBER"),
    "counts_delta": Option(ACCURACY, "With --counts-rho: failure probability δ.", "NUMBER"),
    "others": Option(ACCURACY, "Count the votes for all items that are not listed, too, with noise.", kind=bool),
}
"""What a release is to hold and to promise."""

FAMILY: Options = {
    "by": Option(WHAT, "Release one list for each group: the columns of the groups, say country,week.", "COLUMNS"),
    "groups": Option(
        WHAT, "With --by: the public list of groups, with these columns. Else the domain has them.", "FILE"
    ),
    "groups_per_person": Option(
        PRIVACY, "With --by: count each person in at most N groups. --votes-per-person is over all groups.", "N", int
    ),
}
"""Lists by group."""

WEIGHTS: Options = {
    "weight": Option(WHAT, "A column of numbers, such as minutes: each person adds them, not 1, to an item.", "COLUMN"),
    "max_weight": Option(
        PRIVACY, "With --weight: what one person adds to one item is cut at N. Choose it without the data.", "N", int
    ),
}
"""Votes with weights."""

WEIGHT_UNIT: Options = {
    "weight_unit": Option(WHAT, "The word for what the weights count, say minutes. [default: the column]", "WORD")
}

GROUP_COUNT: Options = {"group_count": Option(WHAT, "Lists by group: how many groups there are.", "N", int)}
"""Lists by group, where no group is read."""

WITHOUT_DOMAIN: Options = {
    "without_domain": Option(
        WHAT, "There is no public list of items, so --delta is needed.", kind=bool, names=("--no-domain",)
    )
}

READING: Options = {
    "input_format": Option(
        FILES, "The format of FILES, if their names do not show it; json is JSON lines.", kind=FileFormat
    ),
    "encoding": Option(FILES, "The encoding of FILES, say latin-1 or utf-16.", "NAME", default="utf-8"),
    "no_header": Option(FILES, "CSV FILES have no header; the columns are called 1, 2 and so on.", kind=bool),
    "delimiter": Option(FILES, "The character between the fields of CSV FILES; write `tab` for a tab.", "CHARACTER"),
}
"""How files are read, if their names do not say it."""

_READING_DOMAIN: Options = {
    f"domain_{name.removeprefix('input_')}": replace(
        each, text=f"Like --{name.replace('_', '-')}, for the file of the domain."
    )
    for name, each in READING.items()
}

SOURCE: Options = {
    "files": Option(
        ARGUMENTS,
        "Votes: Parquet, CSV or JSON lines; files, folders, globs, addresses, or - for standard input.",
        "FILES",
        list[str],
    ),
    "item": Option(WHAT, "The column that holds the item of a vote.", "COLUMN", default=REQUIRED),
    "person": Option(WHAT, "The column that holds who voted.", "COLUMN"),
    "count": Option(WHAT, "The column of counts, for a table that is counted already; replaces --person.", "COLUMN"),
    "domain": Option(
        WHAT,
        "The public list of all items that may be released, with or without votes. Without it, --delta is needed.",
        "FILE",
    ),
    "domain_column": Option(WHAT, "The column of the domain that holds the items.", "COLUMN"),
    "database": Option(FILES, "Query the votes from a DuckDB or SQLite file, or postgresql://...", "DATABASE"),
    "sql": Option(FILES, "With --database: the query that gives the votes.", "QUERY"),
    "domain_sql": Option(FILES, "With --database: the query that gives the domain; replaces --domain.", "QUERY"),
    **READING,
    **_READING_DOMAIN,
    "memory_limit": Option(FILES, "The memory that DuckDB may use before it spills to disk, say 4GB.", "SIZE"),
}
"""The votes and the domain: files, or queries on a database."""

PRINTED: Options = {
    "printed": Option(OUTPUT, "The format of what is printed.", kind=Format, default=Format.TABLE, names=("--format",))
}
FORCE: Options = {"force": Option(OUTPUT, "Overwrite files that exist.", kind=bool)}
QUIET: Options = {
    "quiet": Option(
        OUTPUT,
        "Print nothing but errors. Needs --output for select and check, --folder for demo.",
        kind=bool,
        names=("--quiet", "-q"),
    )
}


def write_to(text: str, kind: Any = Path) -> Options:
    """Make the options of a command that writes what it finds."""
    return {"output": Option(OUTPUT, text, "FILE", kind, names=("--output", "-o")), **FORCE}


def read_request(given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the values of a request by the names that Python has for them."""
    ordered = False if given["unordered"] else None
    asked = {**given, "k": read_sizes(given["k"]), "ordered": ordered}
    del asked["unordered"]
    return asked


def read_sizes(k: str) -> int | tuple[int, int]:
    """Read a number of items, or a range of sizes.

    >>> read_sizes("10"), read_sizes("5-10")
    (10, (5, 10))
    """
    numbers = re.fullmatch(r"\s*(-?\d{1,18})(?:\s*-\s*(\d{1,18}))?\s*", k)
    if numbers is None:
        raise ParameterError("`k` must be a whole number, or a range such as 5-10", f"not {k[:60]!r}")
    first, last = numbers.groups()
    return int(first) if last is None else (int(first), int(last))


def read_columns(names: str | None) -> list[str] | None:
    """Read the names of columns.

    >>> read_columns("country, week")
    ['country', 'week']
    """
    return None if names is None else [column.strip() for column in names.split(",")]


def read_source(given: Mapping[str, Any]) -> dict[str, Any]:
    """Put votes and a domain in the place of the options that describe them. The domain is None if there is none."""
    asked = dict(given)
    files, domain = asked.pop("files"), asked.pop("domain")
    database, sql, domain_sql = (asked.pop(name) for name in ("database", "sql", "domain_sql"))
    if (database is None) != (sql is None):
        raise ParameterError("`database` and `sql` must come together: a database, and a query on it")
    if bool(files) == (database is not None):
        found = "both were" if files else "neither was"
        raise ParameterError("FILES or `database` must be given, and only one of them", found)
    if domain_sql is not None and database is None:
        raise ParameterError("`domain_sql` must come with `database`, the database that it queries")
    if domain_sql is not None and domain is not None:
        raise ParameterError("`domain` or `domain_sql` must be given, and only one of them", "both were")
    from shortlist.votes.queries import Query

    reading, reading_domain = ([asked.pop(name) for name in group] for group in (READING, _READING_DOMAIN))
    asked["votes"] = describe_files(files, *reading) if files else Query(database, sql)
    asked["domain"] = None if domain is None else describe_files([domain], *reading_domain)
    if domain_sql is not None:
        asked["domain"] = Query(database, domain_sql)
    return asked


def describe_files(
    paths: list[str], form: FileFormat | None, encoding: str, no_header: bool, delimiter: str | None
) -> Any:
    """Describe files by how they are to be read, if their names do not say so."""
    from shortlist.votes.files import Files

    return Files(
        paths,
        format=form and str(form),
        encoding=encoding,
        header=not no_header,
        delimiter="\t" if delimiter == "tab" else delimiter,
    )


def _read_number(text: object) -> Any:
    return int(str(text)) if re.fullmatch(r"\s*-?\d{1,99}\s*", str(text)) else text
