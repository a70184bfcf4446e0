"""The options of commands as annotated types, the reader of -k, and the example at the end of a help."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shortlist.errors import ParameterError


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


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
        raise ParameterError(
            "{k} must be a whole number, or a range such as {example}",
            "not {value}",
            example="5-10",
            value=repr(k[:60]),
        )
    first, last = numbers.groups()
    return int(first) if last is None else (int(first), int(last))


def complete_mechanism(incomplete: str) -> list[str]:
    """List the mechanisms whose names begin like this, for the completion of a shell."""
    from shortlist.mechanisms import MECHANISMS

    return [name for name in MECHANISMS if name.startswith(incomplete)]


def _neighbour_names(incomplete: str) -> list[str]:
    from shortlist.privacy import Neighbours

    return [str(name) for name in Neighbours if name.startswith(incomplete)]


Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILES",
        help="Votes: Parquet, CSV or JSON lines; files, folders, globs, addresses, or - for standard input.",
        show_default=False,
    ),
]
Person = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that holds who voted.")]
Item = Annotated[str, typer.Option(metavar="COLUMN", help="The column that holds the item of a vote.")]
Count = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column of counts, for a table that is counted already; replaces --person."
    ),
]
Sensitivity = Annotated[int, typer.Option(metavar="N", help="With --count: one person adds at most N to a count.")]
Domain = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The public list of all items that may be released, with or without votes. Without it, --delta is needed.",
    ),
]
DomainColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column of the domain that holds the items.")
]
VotesPerPerson = Annotated[
    int | None,
    typer.Option(metavar="N", help="Count at most N items of each person. A hash of the vote decides which."),
]
Database = Annotated[
    str | None,
    typer.Option(metavar="DATABASE", help="Query the votes from a DuckDB or SQLite file, or postgresql://..."),
]
Sql = Annotated[str | None, typer.Option(metavar="QUERY", help="With --database: the query that gives the votes.")]
DomainSql = Annotated[
    str | None,
    typer.Option(metavar="QUERY", help="With --database: the query that gives the domain; replaces --domain."),
]
MemoryLimit = Annotated[
    str | None, typer.Option(metavar="SIZE", help="The memory that DuckDB may use before it spills to disk, say 4GB.")
]
K = Annotated[int, typer.Option("-k", "--k", metavar="N", help="How many items to release.")]
Sizes = Annotated[
    str,
    typer.Option(
        "-k", "--k", metavar="N", help="How many items to release; with --any-order also a range of sizes, say 5-10."
    ),
]
Epsilon = Annotated[
    str, typer.Option(metavar="NUMBER", help="The privacy loss: smaller is more private, and 1 is common.")
]
Mechanism = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The mechanism that chooses the items; see `shortlist mechanisms`. [default: auto]",
        autocompletion=complete_mechanism,
    ),
]
AnyOrder = Annotated[
    bool, typer.Option("--any-order", help="Release the items without their order. The list is more accurate.")
]
Beta = Annotated[str | None, typer.Option(metavar="NUMBER", help="The failure probability of fastjoint.")]
NoDomain = Annotated[bool, typer.Option("--no-domain", help="There is no public list of items, so --delta is needed.")]
KBar = Annotated[
    int | None, typer.Option(metavar="N", help="Among how many of the most-voted items limited-domain chooses.")
]
Noise = Annotated[
    str | None,
    typer.Option(
        metavar="<gaussian|laplace>",
        help="The law of the noise of threshold. [default: the one with the lower threshold]",
    ),
]
Delta = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER", help="Allow a failure probability δ. Lists are more accurate for large k; try 1e-6."
    ),
]
Assess = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="Spend this epsilon on top, for a bound on the error that uses these data."),
]
CountsEpsilon = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="Spend this epsilon on top, for noisy counts of the items.")
]
CountsRho = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="In its place: a rho (zCDP), with --counts-delta.")
]
CountsDelta = Annotated[str | None, typer.Option(metavar="NUMBER", help="With --counts-rho: failure probability δ.")]
People = Annotated[
    int | None, typer.Option(metavar="N", help="How many people there are, if public: warns of useless lists.")
]
Neighbours = Annotated[
    str,
    typer.Option(
        metavar="<add-remove|replace>",
        help="What one person may change: add-remove is presence in the data, replace is all votes of the person.",
        autocompletion=_neighbour_names,
    ),
]
Unit = Annotated[
    str, typer.Option(metavar="WORD", help="The word for one person in the guarantee, say user or household.")
]
Ledger = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Charge the release to the budget in this file; see `shortlist ledger`."),
]
Note = Annotated[str | None, typer.Option(metavar="TEXT", help="With --ledger: a note on what the release is for.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the release: .json, .csv or .parquet.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
Printed = Annotated[Format, typer.Option("--format", help="The format of what is printed.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print nothing but errors. Needs --output for select and check, --folder for demo."
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Make randomness repeatable, for tests; needs --insecure.")]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Allow repeatable randomness. The release is marked as not secure.")
]


class FileFormat(StrEnum):
    """The format of a file."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


InputFormat = Annotated[
    FileFormat | None, typer.Option(help="The format of FILES, if their names do not show it; json is JSON lines.")
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="The encoding of FILES, say latin-1 or utf-16.")]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="CSV FILES have no header; the columns are called 1, 2 and so on.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="CHARACTER", help="The character between the fields of CSV FILES; write `tab` for a tab."),
]
DomainFormat = Annotated[FileFormat | None, typer.Option(help="Like --input-format, for the file of the domain.")]
DomainEncoding = Annotated[str, typer.Option(metavar="NAME", help="Like --encoding, for the file of the domain.")]
DomainNoHeader = Annotated[
    bool, typer.Option("--domain-no-header", help="Like --no-header, for the file of the domain.")
]
DomainDelimiter = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="Like --delimiter, for the file of the domain.")
]
ShowValues = Annotated[bool, typer.Option("--show-values", help="Show some items of the votes. They are private.")]
Report = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the check to a file that only you may read."),
]
