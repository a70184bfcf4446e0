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

from shortlist.errors import ParameterError

HEADINGS = ("Arguments", "What", "Privacy", "Accuracy", "Budget", "Files", "Output", "Options")
ARGUMENTS, WHAT, PRIVACY, ACCURACY, BUDGET, FILES, OUTPUT, OTHERS = HEADINGS

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
    """An option or an argument: its heading and text in the help, what a value looks like, its default and its type.

    It is called like the parameter of the library, unless `names` says otherwise. Without a heading, it is hidden. What
    has no value is a flag, unless it has a `kind`. A value N is a whole number. Another text is passed on, and the
    library refuses it with the name of the parameter.
    """

    heading: str | None
    text: str
    metavar: str | None = None
    default: Any = None
    kind: Any = None
    names: tuple[str, ...] = ()
    complete: Callable[[str], list[str]] | None = None

    def make_parameter(self, name: str) -> inspect.Parameter:
        """Describe the option as Typer reads it."""
        settings: dict[str, Any] = {"help": self.text, "metavar": self.metavar, "autocompletion": self.complete}
        if self.metavar in ("N", "N|auto"):
            settings["parser"] = _read_number
        if self.heading == ARGUMENTS:
            info = typer.Argument(show_default=False, **settings)
        else:
            names = self.names or (f"--{name.replace('_', '-')}",)
            info = typer.Option(*names, rich_help_panel=self.heading, hidden=self.heading is None, **settings)
        kind = self.kind or (str if self.metavar else bool)
        default = False if kind is bool else self.default
        kind = kind | None if default is None else kind
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
        )


Options = Mapping[str, Option]


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
        "add-remove",
        complete=_complete_neighbours,
    ),
    "unit": Option(PRIVACY, "The word for one person in the guarantee, say user or household.", "WORD", "person"),
}
"""Who is protected."""

REQUEST: Options = {
    "k": Option(
        WHAT,
        "How many items to release; with --unordered also a range of sizes, say 5-10.",
        "N",
        REQUIRED,
        names=("-k", "--k"),
    ),
    "unordered": Option(WHAT, "Release the items without their order. The list is more accurate."),
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
    ),
    "sensitivity": Option(PRIVACY, "With --count: one person adds at most N to a count.", "N", 1),
    **PROTECTED,
    "mechanism": Option(
        ACCURACY,
        "The mechanism that chooses the items; see `shortlist mechanisms`.",
        "NAME",
        "auto",
        complete=complete_mechanism,
    ),
    "beta": Option(ACCURACY, "The failure probability of fastjoint.", "NUMBER"),
    "k_bar": Option(ACCURACY, "Among how many of the most-voted items limited-domain chooses.", "N"),
    "noise": Option(
        ACCURACY, "The law of the noise of threshold. [default: the one with the lower threshold]", "<gaussian|laplace>"
    ),
    "assess": Option(ACCURACY, "Spend this epsilon on top, for a bound on the error that uses these data.", "NUMBER"),
    "counts_epsilon": Option(ACCURACY, "Spend this epsilon on top, for noisy counts of the items.", "NUMBER"),
    "counts_rho": Option(ACCURACY, "In its place: a rho (zCDP), with --counts-delta.", "NUMBER"),
    "counts_delta": Option(ACCURACY, "With --counts-rho: failure probability δ.", "NUMBER"),
    "others": Option(ACCURACY, "Count the votes for all items that are not listed, too, with noise."),
}
"""What a release is to hold and to promise."""

FAMILY: Options = {
    "by": Option(WHAT, "Release one list for each group: the columns of the groups, say country,week.", "COLUMNS"),
    "groups": Option(
        WHAT, "With --by: the public list of groups, with these columns. Else the domain has them.", "FILE"
    ),
    "groups_per_person": Option(
        PRIVACY, "With --by: count each person in at most N groups. --votes-per-person is over all groups.", "N"
    ),
}
"""Lists by group."""

WEIGHTS: Options = {
    "weight": Option(WHAT, "A column of numbers, such as minutes: each person adds them, not 1, to an item.", "COLUMN"),
    "max_weight": Option(
        PRIVACY, "With --weight: what one person adds to one item is cut at N. Choose it without the data.", "N"
    ),
}
"""Votes with weights."""

WITHOUT_VOTES: Options = {
    "by": Option(WHAT, "Lists by group: the columns of the groups.", "COLUMNS"),
    "group_count": Option(WHAT, "Lists by group: how many groups there are.", "N"),
    "weight_unit": Option(WHAT, "With --max-weight: what the weights count, say minutes.", "WORD"),
    "without_domain": Option(WHAT, "There is no public list of items, so --delta is needed.", names=("--no-domain",)),
    "groups_per_person": Option(PRIVACY, "Lists by group: at most N groups of each person count.", "N"),
    "max_weight": Option(PRIVACY, "Votes have weights: one person adds at most N to one item.", "N"),
}
"""What else is asked of a release, where no votes and no groups are read."""

READING: Options = {
    "input_format": Option(
        FILES, "The format of FILES, if their names do not show it; json is JSON lines.", kind=FileFormat
    ),
    "encoding": Option(FILES, "The encoding of FILES, say latin-1 or utf-16.", "NAME", "utf-8"),
    "no_header": Option(FILES, "CSV FILES have no header; the columns are called 1, 2 and so on."),
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
        kind=list[str],
    ),
    "item": Option(WHAT, "The column that holds the item of a vote.", "COLUMN", REQUIRED),
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
FORCE: Options = {"force": Option(OUTPUT, "Overwrite files that exist.")}
QUIET: Options = {
    "quiet": Option(
        OUTPUT,
        "Print nothing but errors. Needs --output for select and check, --folder for demo.",
        names=("--quiet", "-q"),
    )
}


def write_to(text: str, kind: Any = Path) -> Options:
    """Make the options of a command that writes what it finds."""
    return {"output": Option(OUTPUT, text, "FILE", kind=kind, names=("--output", "-o")), **FORCE}


def read_request(given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the values of a request by the names that Python has for them."""
    ordered = False if given["unordered"] else None
    asked = {name: value for name, value in given.items() if name != "unordered"}
    return {**asked, "k": read_sizes(given["k"]), "ordered": ordered}


def read_sizes(k: object) -> Any:
    """Read a number of items, or a range of sizes.

    >>> read_sizes(10), read_sizes("5-10")
    (10, (5, 10))
    """
    numbers = re.fullmatch(r"\s*(-?\d{1,18})(?:\s*-\s*(\d{1,18}))?\s*", str(k))
    if numbers is None:
        raise ParameterError("`k` must be a whole number, or a range such as 5-10", f"not {str(k)[:60]!r}")
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
    from shortlist.votes import Query

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
