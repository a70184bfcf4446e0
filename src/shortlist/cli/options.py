"""The options of commands: each is defined once, under the heading where a help shows it.

A command names single options by their types (`Quiet`), and options that belong together by a group (`Source`).
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from shortlist.errors import ParameterError

WHAT, PRIVACY, ACCURACY, BUDGET, FILES, OUTPUT = "What", "Privacy", "Accuracy", "Budget", "Files", "Output"
_HEADINGS = ("Arguments", WHAT, PRIVACY, ACCURACY, BUDGET, FILES, OUTPUT, "Options")


class Command(TyperCommand):
    """A command whose help has headings. An option that is given twice is an error: one of the two would be lost."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under their headings, as plain text."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            shown = each.get_help_record(ctx)
            if shown is not None:
                usual = "Arguments" if each.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(each, "rich_help_panel", None) or usual, []).append(shown)
        for heading in _HEADINGS:
            if heading in groups:
                with formatter.section(heading):
                    formatter.write_dl(groups[heading])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is repeated, or whose value is the next option. Then read the arguments."""
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        names = {name for each in self.get_params(ctx) if each.param_type_name == "option" for name in each.opts}
        for each in order:
            if each.param_type_name != "option" or getattr(each, "is_flag", False):
                continue
            if not each.multiple and order.count(each) > 1:
                hint = f"name several columns in one: {each.opts[0]} title,artist" if each.name == "label" else None
                raise ParameterError(f"{each.opts[0]} must be given once", "it was given twice", hint=hint)
            found = values[each.name] if each.multiple else [values[each.name]]
            for value in names.intersection(found):
                raise ParameterError(f"{each.opts[0]} must have a value", f"the option {value} follows it")
        return super().parse_args(ctx, args)


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


def format_example(command: str) -> str:
    r"""Lay a command out as the last lines of a help. The character \b keeps its lines as they are.

    >>> print(format_example("shortlist demo").lstrip("\b"))
    <BLANKLINE>
    Example:
      shortlist demo
    """
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in command.splitlines())


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


def complete_mechanism(incomplete: str) -> list[str]:
    """List the mechanisms whose names begin like this, for the completion of a shell."""
    from shortlist.mechanisms import MECHANISMS

    return [name for name in MECHANISMS if name.startswith(incomplete)]


def _complete_neighbours(incomplete: str) -> list[str]:
    from shortlist.privacy import Neighbours

    return [str(name) for name in Neighbours if name.startswith(incomplete)]


def option(heading: str, text: str, *names: str, metavar: str | None = None, **settings: Any) -> Any:
    """Define an option, under a heading of the help."""
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=heading, **settings)


Item = Annotated[str, option(WHAT, "The column that holds the item of a vote.", metavar="COLUMN")]
Person = Annotated[str | None, option(WHAT, "The column that holds who voted.", metavar="COLUMN")]
Count = Annotated[
    str | None,
    option(WHAT, "The column of counts, for a table that is counted already; replaces --person.", metavar="COLUMN"),
]
Sizes = Annotated[
    str,
    option(
        WHAT, "How many items to release; with --unordered also a range of sizes, say 5-10.", "-k", "--k", metavar="N"
    ),
]
Unordered = Annotated[
    bool, option(WHAT, "Release the items without their order. The list is more accurate.", "--unordered")
]
Label = Annotated[
    str | None,
    option(WHAT, "Carry these columns of the domain into the outputs, say title,artist.", metavar="COLUMNS"),
]
NoDomain = Annotated[bool, option(WHAT, "There is no public list of items, so --delta is needed.", "--no-domain")]
Epsilon = Annotated[
    str, option(PRIVACY, "The privacy loss: smaller is more private, and 1 is common.", metavar="NUMBER")
]
Delta = Annotated[
    str | None,
    option(
        PRIVACY,
        "Allow a failure probability δ, far below 1 divided by the number of people. Lists are more accurate for "
        "large k.",
        metavar="NUMBER",
    ),
]
VotesPerPerson = Annotated[
    int | None,
    option(PRIVACY, "Count at most N items of each person. A hash of the vote decides which.", metavar="N"),
]
Sensitivity = Annotated[int, option(PRIVACY, "With --count: one person adds at most N to a count.", metavar="N")]
Neighbours = Annotated[
    str,
    option(
        PRIVACY,
        "What one person may change: add-remove is presence in the data, replace is all votes of the person.",
        metavar="<add-remove|replace>",
        autocompletion=_complete_neighbours,
    ),
]
Unit = Annotated[
    str, option(PRIVACY, "The word for one person in the guarantee, say user or household.", metavar="WORD")
]
Seed = Annotated[int | None, option(PRIVACY, "Make randomness repeatable, for tests; needs --insecure.", metavar="N")]
Insecure = Annotated[
    bool, option(PRIVACY, "Allow repeatable randomness. The release is marked as not secure.", "--insecure")
]
Mechanism = Annotated[
    str | None,
    option(
        ACCURACY,
        "The mechanism that chooses the items; see `shortlist mechanisms`. [default: auto]",
        metavar="NAME",
        autocompletion=complete_mechanism,
    ),
]
Beta = Annotated[str | None, option(ACCURACY, "The failure probability of fastjoint.", metavar="NUMBER")]
KBar = Annotated[
    int | None, option(ACCURACY, "Among how many of the most-voted items limited-domain chooses.", metavar="N")
]
Noise = Annotated[
    str | None,
    option(
        ACCURACY,
        "The law of the noise of threshold. [default: the one with the lower threshold]",
        metavar="<gaussian|laplace>",
    ),
]
Assess = Annotated[
    str | None,
    option(ACCURACY, "Spend this epsilon on top, for a bound on the error that uses these data.", metavar="NUMBER"),
]
CountsEpsilon = Annotated[
    str | None, option(ACCURACY, "Spend this epsilon on top, for noisy counts of the items.", metavar="NUMBER")
]
CountsRho = Annotated[
    str | None, option(ACCURACY, "In its place: a rho (zCDP), with --counts-delta.", metavar="NUMBER")
]
CountsDelta = Annotated[str | None, option(ACCURACY, "With --counts-rho: failure probability δ.", metavar="NUMBER")]
People = Annotated[
    int | None, option(ACCURACY, "How many people there are, if public: warns of useless lists.", metavar="N")
]
Ledger = Annotated[
    Path | None,
    option(BUDGET, "Charge the release to the budget in this file; see `shortlist ledger`.", metavar="FILE"),
]
Note = Annotated[
    str | None, option(BUDGET, "What the release is for. The record and the ledger say it.", metavar="TEXT")
]
Period = Annotated[str | None, option(BUDGET, "The time that the votes are of, say 2026-W03.", metavar="TEXT")]
InputFormat = Annotated[
    FileFormat | None, option(FILES, "The format of FILES, if their names do not show it; json is JSON lines.")
]
Encoding = Annotated[str, option(FILES, "The encoding of FILES, say latin-1 or utf-16.", metavar="NAME")]
NoHeader = Annotated[
    bool, option(FILES, "CSV FILES have no header; the columns are called 1, 2 and so on.", "--no-header")
]
Delimiter = Annotated[
    str | None,
    option(FILES, "The character between the fields of CSV FILES; write `tab` for a tab.", metavar="CHARACTER"),
]
Outputs = Annotated[
    list[Path] | None,
    option(
        OUTPUT,
        "Write the release: .json, .csv or .parquet; may be repeated.",
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
    ),
]
Force = Annotated[bool, option(OUTPUT, "Overwrite files that exist.", "--force")]
Printed = Annotated[Format, option(OUTPUT, "The format of what is printed.", "--format")]
Quiet = Annotated[
    bool,
    option(
        OUTPUT,
        "Print nothing but errors. Needs --output for select and check, --folder for demo.",
        "--quiet",
        "-q",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files are read, if their names do not say it."""

    input_format: InputFormat = None
    encoding: Encoding = "utf-8"
    no_header: NoHeader = False
    delimiter: Delimiter = None

    def describe(self, paths: list[str]) -> Any:
        """Describe files by how they are to be read."""
        return describe_files(paths, self.input_format, self.encoding, self.no_header, self.delimiter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The votes and the domain: files, or queries on a database."""

    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help="Votes: Parquet, CSV or JSON lines; files, folders, globs, addresses, or - for standard input.",
            show_default=False,
        ),
    ] = None
    domain: Annotated[
        str | None,
        option(
            WHAT,
            "The public list of all items that may be released, with or without votes. Without it, --delta is needed.",
            metavar="FILE",
        ),
    ] = None
    domain_column: Annotated[
        str | None, option(WHAT, "The column of the domain that holds the items.", metavar="COLUMN")
    ] = None
    database: Annotated[
        str | None,
        option(FILES, "Query the votes from a DuckDB or SQLite file, or postgresql://...", metavar="DATABASE"),
    ] = None
    sql: Annotated[str | None, option(FILES, "With --database: the query that gives the votes.", metavar="QUERY")] = (
        None
    )
    domain_sql: Annotated[
        str | None,
        option(FILES, "With --database: the query that gives the domain; replaces --domain.", metavar="QUERY"),
    ] = None
    input_format: InputFormat = None
    encoding: Encoding = "utf-8"
    no_header: NoHeader = False
    delimiter: Delimiter = None
    domain_format: Annotated[FileFormat | None, option(FILES, "Like --input-format, for the file of the domain.")] = (
        None
    )
    domain_encoding: Annotated[str, option(FILES, "Like --encoding, for the file of the domain.", metavar="NAME")] = (
        "utf-8"
    )
    domain_no_header: Annotated[
        bool, option(FILES, "Like --no-header, for the file of the domain.", "--domain-no-header")
    ] = False
    domain_delimiter: Annotated[
        str | None, option(FILES, "Like --delimiter, for the file of the domain.", metavar="CHARACTER")
    ] = None
    memory_limit: Annotated[
        str | None,
        option(FILES, "The memory that DuckDB may use before it spills to disk, say 4GB.", metavar="SIZE"),
    ] = None

    def read_votes(self) -> Any:
        """Describe the files of votes, or the query on a database."""
        if (self.database is None) != (self.sql is None):
            raise ParameterError("`database` and `sql` must come together: a database, and a query on it")
        if bool(self.files) == (self.database is not None):
            found = "both were" if self.files else "neither was"
            raise ParameterError("FILES or `database` must be given, and only one of them", found)
        if self.files:
            return describe_files(self.files, self.input_format, self.encoding, self.no_header, self.delimiter)
        from shortlist.votes import Query

        return Query(self.database, str(self.sql))

    def read_domain(self) -> Any:
        """Describe the file of the domain, or the query on a database. Return None if neither is given."""
        if self.domain_sql is None:
            how = self.domain_format, self.domain_encoding, self.domain_no_header, self.domain_delimiter
            return None if self.domain is None else describe_files([self.domain], *how)
        if self.database is None:
            raise ParameterError("`domain_sql` must come with `database`, the database that it queries")
        if self.domain is not None:
            raise ParameterError("`domain` or `domain_sql` must be given, and only one of them", "both were")
        from shortlist.votes import Query

        return Query(self.database, self.domain_sql)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a release is to hold and to promise. A command that makes one, or asks what it would cost, takes these."""

    k: Sizes
    epsilon: Epsilon
    delta: Delta = None
    unordered: Unordered = False
    votes_per_person: VotesPerPerson = None
    sensitivity: Sensitivity = 1
    neighbours: Neighbours = "add-remove"
    unit: Unit = "person"
    mechanism: Mechanism = None
    beta: Beta = None
    k_bar: KBar = None
    noise: Noise = None
    assess: Assess = None
    counts_epsilon: CountsEpsilon = None
    counts_rho: CountsRho = None
    counts_delta: CountsDelta = None

    def read(self) -> dict[str, Any]:
        """Give the parameters by the names that Python has for them."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "unordered"}
        ordered = False if self.unordered else None
        return {**given, "k": read_sizes(self.k), "ordered": ordered, "mechanism": self.mechanism or "auto"}


def take_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each group that it takes, in place of the group."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: get_type_hints(kind, include_extras=True) for name, kind in hints.items() if is_dataclass(kind)}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        built = {name: hints[name](**{each: given.pop(each) for each in options}) for name, options in groups.items()}
        command(**built, **given)

    parameters = []
    for name, each in inspect.signature(command).parameters.items():
        if name in groups:
            taken = [
                (one.name, inspect.Parameter.empty if one.default is MISSING else one.default, groups[name][one.name])
                for one in fields(hints[name])
            ]
        else:
            taken = [(name, each.default, hints[name])]
        parameters += [
            inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for one, default, annotation in taken
        ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def describe_files(
    paths: list[str], form: FileFormat | None, encoding: str, no_header: bool, delimiter: str | None
) -> Any:
    """Describe files by how they are to be read, if their names do not say so."""
    from shortlist.votes.files import Files

    return Files(
        paths,
        format=None if form is None else str(form),
        encoding=encoding,
        header=not no_header,
        delimiter="\t" if delimiter == "tab" else delimiter,
    )
