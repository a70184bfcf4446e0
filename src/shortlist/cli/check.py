"""`shortlist check`: how the votes fit the domain, for the data owner only."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.cli import options
from shortlist.cli.display import progress, remark
from shortlist.cli.inputs import FileOptions, read_domain, read_votes
from shortlist.errors import ParameterError

if TYPE_CHECKING:
    from shortlist.votes.check.check import Check

EXAMPLE = r"""shortlist check plays/*.parquet --person user_id --item track \
    --domain catalogue.csv --output check.txt"""


def check(
    item: options.Item,
    person: options.Voter,
    files: options.Files = None,
    domain: options.Domain = None,
    show_values: options.ShowValues = False,
    output: options.Report = None,
    force: options.Force = False,
    domain_column: options.DomainColumn = None,
    database: options.Database = None,
    sql: options.Sql = None,
    domain_sql: options.DomainSql = None,
    input_format: options.InputFormat = None,
    encoding: options.Encoding = "utf-8",
    no_header: options.NoHeader = False,
    delimiter: options.Delimiter = None,
    domain_format: options.DomainFormat = None,
    domain_encoding: options.DomainEncoding = "utf-8",
    domain_no_header: options.DomainNoHeader = False,
    domain_delimiter: options.DomainDelimiter = None,
    memory_limit: options.MemoryLimit = None,
    quiet: options.Quiet = False,
) -> None:
    """Check how the votes fit the domain. The result is NOT PRIVATE and not for publication.

    It says how many rows match, which rows do not and why. It is shown on a terminal only, or written to a file that
    only you may read: text, or JSON if the name ends in .json.
    """
    votes_files = FileOptions(input_format, encoding, no_header, delimiter)
    domain_file = FileOptions(domain_format, domain_encoding, domain_no_header, domain_delimiter)
    _check_place(output, force=force, quiet=quiet)
    with progress(quiet=quiet) as step:
        from shortlist.votes.check.check import check as check_votes

        found = check_votes(
            read_votes(files, votes_files, database=database, sql=sql),
            item=item,
            person=person,
            domain=read_domain(domain, domain_file, database=database, domain_sql=domain_sql),
            domain_column=domain_column,
            show_values=show_values,
            memory_limit=memory_limit,
            progress=step,
        )
    if output is None:
        print(found)
        return
    _write(found, output, force=force)
    remark(f"wrote {output}; it is not private, and not for publication", quiet=quiet)


def _check_place(output: Path | None, *, force: bool, quiet: bool) -> None:
    """Refuse a pipe or a redirection, before any data is read: the result could end up where others see it."""
    if output is not None:
        from shortlist.atomic_files import check_target

        check_target(output, force=force)
        if output.exists() and not output.is_file():
            raise ParameterError("{output} must be a file that can be protected", "it is a pipe or a device")
    elif quiet:
        raise ParameterError(
            "{quiet} must go with {output}", "the check would be lost", hint="name a file with {output='check.txt'}"
        )
    elif not (sys.stdout and sys.stdout.isatty()):
        raise ParameterError(
            "a check must be shown on a terminal, because it is not private",
            "standard output is a pipe or a file",
            hint="write it to a file that only you may read: {output='check.txt'}",
        )


def _write(found: Check, output: Path, *, force: bool) -> None:
    import json

    from shortlist.atomic_files import write_whole

    text = json.dumps(found.to_dict(), indent=2) if output.suffix.lower() == ".json" else str(found)
    before = os.umask(0o077)
    try:
        write_whole(output, lambda file: file.write(f"{text}\n".encode("utf-8", "backslashreplace")), force=force)
    finally:
        os.umask(before)
