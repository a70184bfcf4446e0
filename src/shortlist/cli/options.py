"""The options of commands: each is defined once, as the line that a help shows, under its heading.

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

import shortlist
from shortlist.errors import ParameterError

HEADINGS = ("Arguments", "What", "Privacy", "Accuracy", "Budget", "Files", "Output", "Options")
ARGUMENTS, WHAT, PRIVACY, ACCURACY, BUDGET, FILES, OUTPUT, OTHERS = HEADINGS

READ = ("DATABASE", "FILE", "FILES", "LEDGER", "RECORD")
"""What the values of options look like that name what is read or charged. An output is the only other FILE."""
REQUIRED = inspect.Parameter.empty
"""The default of an option that must be given."""


def _read_number(text: object) -> Any:
    return int(str(text)) if re.fullmatch(r"\s*-?\d{1,99}\s*", str(text)) else text


def _read_columns(names: object) -> list[str]:
    """Read the names of columns.

    >>> _read_columns("country, week")
    ['country', 'week']
    """
    return [column.strip() for column in str(names).split(",")]


_READERS = {"N": _read_number, "N|auto": _read_number, "COLUMNS": _read_columns}


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Option:
    """An option or an argument: its line in the help, its default, its type and its heading.

    A line is what a value looks like, and what it means: `N | How many items to release.` Without the former, it is a
    flag, unless it has a `kind`. The option is called like the parameter of the library, unless `names` says otherwise.
    Without a heading, it is hidden. A value N is a whole number, and COLUMNS are names. Another text is passed on, and
    the library refuses it with the name of the parameter. A shell completes `<one|of|some>` values.
    """

    line: str
    default: Any = None
    kind: Any = None
    names: tuple[str, ...] = ()
    complete: Callable[[str], list[str]] | None = None
    heading: str | None = None

    def make_parameter(self, name: str) -> inspect.Parameter:
        """Describe the option as Typer reads it."""
        metavar, _, text = self.line.rpartition(" | ")
        complete = self.complete or (_complete_one_of(metavar) if metavar.startswith("<") else None)
        settings: dict[str, Any] = {"help": text, "metavar": metavar or None, "autocompletion": complete}
        if metavar in _READERS:
            settings["parser"] = _READERS[metavar]
        if self.heading == ARGUMENTS:
            info = typer.Argument(show_default=False, **settings)
        else:
            names = self.names or (f"--{name.replace('_', '-')}",)
            info = typer.Option(*names, rich_help_panel=self.heading, hidden=self.heading is None, **settings)
        kind: Any = self.kind or (str if metavar else bool)
        default = False if kind is bool else self.default
        kind = kind | None if default is None else kind
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
        )


Options = dict[str, Option]


def under(heading: str | None, **options: str | Option) -> Options:
    """Put options under a heading of the help. Most are a line."""
    made = {name: Option(each) if isinstance(each, str) else each for name, each in options.items()}
    return {name: replace(each, heading=heading) for name, each in made.items()}


def complete_mechanism(incomplete: str) -> list[str]:
    """List the mechanisms whose names begin like this, for the completion of a shell."""
    from shortlist.mechanisms import MECHANISMS, find_registered

    return [name for name in (*MECHANISMS, *find_registered()) if name.startswith(incomplete)]


def _complete_one_of(metavar: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in metavar.strip("<>").split("|") if name.startswith(incomplete)]

    return complete


PROTECTED: Options = under(
    PRIVACY,
    neighbours=Option(
        "<add-remove|replace> | What one person may change: add-remove is presence in the data, replace is all "
        "votes of the person.",
        "add-remove",
    ),
    unit=Option("WORD | The word for one person in the guarantee, say user or household.", "person"),
)
"""Who is protected."""

REQUEST: Options = (
    under(
        WHAT,
        k=Option(
            "N | How many items to release; with --unordered also a range of sizes, say 5-10.",
            REQUIRED,
            names=("-k", "--k"),
        ),
        unordered="Release the items without their order. The list is more accurate.",
    )
    | under(
        PRIVACY,
        epsilon="NUMBER | The privacy loss: smaller is more private, and 1 is common.",
        rho="NUMBER | In its place: the rho (zCDP) of the list, for a budget of many lists.",
        delta=(
            "NUMBER | Allow a failure probability δ, far below 1 divided by the number of people: say 1e-9 for a "
            "million. Lists are more accurate for large k."
        ),
        votes_per_person=(
            "N|auto | Count at most N items of each person. A hash decides which. With auto, a twentieth "
            "of epsilon or rho chooses N, near a quantile of the votes per person."
        ),
        sensitivity=Option("N | With --count: one person adds at most N to a count.", 1),
    )
    | PROTECTED
    | under(
        ACCURACY,
        mechanism=Option(
            "NAME | The mechanism that chooses the items; see `shortlist mechanisms`.",
            "auto",
            complete=complete_mechanism,
        ),
        beta="NUMBER | The failure probability of fastjoint.",
        k_bar="N | Among how many of the most-voted items limited-domain chooses.",
        noise="<gaussian|laplace> | The law of the noise of threshold. [default: the one with the lower threshold]",
        assess="NUMBER | Spend this epsilon on top, for a bound on the error that uses these data.",
        counts_epsilon="NUMBER | Spend this epsilon on top, for noisy counts of the items.",
        counts_rho="NUMBER | In its place: a rho (zCDP), with --counts-delta.",
        counts_delta="NUMBER | With --counts-rho: failure probability δ.",
        others="Count the votes for all items that are not listed, too, with noise.",
    )
)
"""What a release is to hold and to promise."""

FAMILY: Options = under(
    WHAT,
    by="COLUMNS | Release one list for each group: the columns of the groups, say country,week.",
    groups="FILE | With --by: the public list of groups, with these columns. Else the domain has them.",
) | under(
    PRIVACY,
    groups_per_person="N | With --by: count each person in at most N groups. --votes-per-person is over all groups.",
)
"""Lists by group."""

WEIGHTS: Options = under(
    WHAT, weight="COLUMN | Numbers, such as minutes: each person adds them, not 1, to an item. Other values weigh 0."
) | under(
    PRIVACY,
    max_weight="N | With --weight: what one person adds to one item is cut at N. Choose it without the data.",
)
"""Votes with weights."""

WITHOUT_VOTES: Options = under(
    WHAT,
    by="COLUMNS | Lists by group: the columns of the groups.",
    group_count="N | Lists by group: how many groups there are.",
    weight_unit="WORD | With --max-weight: what the weights count, say minutes.",
    without_domain=Option("There is no public list of items, so --delta is needed.", names=("--no-domain",)),
) | under(
    PRIVACY,
    groups_per_person="N | Lists by group: at most N groups of each person count.",
    max_weight="N | Votes have weights: one person adds at most N to one item.",
)
"""What else is asked of a release, where no votes and no groups are read."""

READING: Options = under(
    FILES,
    input_format="<parquet|csv|json> | The format of FILES, if their names do not show it; json is JSON lines.",
    encoding=Option("NAME | The encoding of FILES, say latin-1 or utf-16.", "utf-8"),
    no_header="CSV FILES have no header; the columns are called 1, 2 and so on.",
    delimiter="CHARACTER | The character between the fields of CSV FILES; write `tab` for a tab.",
)
"""How files are read, if their names do not say it."""

_READING_DOMAIN: Options = {
    f"domain_{name.removeprefix('input_')}": replace(
        each,
        line="".join(each.line.rpartition(" | ")[:2]) + f"Like --{name.replace('_', '-')}, for the file of the domain.",
    )
    for name, each in READING.items()
}

SOURCE: Options = (
    under(
        ARGUMENTS,
        files=Option(
            "FILES | Votes: Parquet, CSV or JSON lines; files, folders, globs, addresses, or - for standard input.",
            kind=list[str],
        ),
    )
    | under(
        WHAT,
        item=Option("COLUMN | The column that holds the item of a vote.", REQUIRED),
        person="COLUMN | The column that holds who voted.",
        count="COLUMN | The column of counts, for a table that is counted already; replaces --person.",
        domain="FILE | The public list of all items that may be released, with or without votes.",
        domain_column="COLUMN | The column of the domain that holds the items.",
    )
    | under(
        FILES,
        database="DATABASE | Query the votes from a DuckDB or SQLite file, or postgresql://...",
        sql="QUERY | With --database: the query that gives the votes.",
        domain_sql="QUERY | With --database: the query that gives the domain; replaces --domain.",
        memory_limit="SIZE | The memory that DuckDB may use before it spills to disk, say 4GB.",
    )
    | READING
    | _READING_DOMAIN
)
"""The votes and the domain: files, or queries on a database."""

PRINTED: Options = under(
    OUTPUT, printed=Option("The format of what is printed.", Format.TABLE, kind=Format, names=("--format",))
)
FORCE: Options = under(OUTPUT, force="Overwrite files that exist.")


def be_quiet(needs: str = "") -> Options:
    """Make the option of a command that can print nothing. Without another option, its result may be lost."""
    return under(OUTPUT, quiet=Option(f"Print nothing but errors{needs}.", names=("--quiet", "-q")))


QUIET = be_quiet()


def write_to(text: str, kind: Any = Path) -> Options:
    """Make the options of a command that writes what it finds."""
    return under(OUTPUT, output=Option(f"FILE | {text}", kind=kind, names=("--output", "-o"))) | FORCE


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
    reading, reading_domain = ([asked.pop(name) for name in group] for group in (READING, _READING_DOMAIN))
    asked["votes"] = describe_files(files, *reading) if files else shortlist.Query(database, sql)
    asked["domain"] = None if domain is None else describe_files([domain], *reading_domain)
    if domain_sql is not None:
        asked["domain"] = shortlist.Query(database, domain_sql)
    return asked


def describe_files(paths: list[str], form: str | None, encoding: str, no_header: bool, delimiter: str | None) -> Any:
    """Describe files by how they are to be read, if their names do not say so."""
    return shortlist.Files(
        paths,
        format=form,
        encoding=encoding,
        header=not no_header,
        delimiter="\t" if delimiter == "tab" else delimiter,
    )
