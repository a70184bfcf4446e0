"""`shortlist check`: how the votes fit the domain, for the data owner only."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shortlist.cli import options
from shortlist.cli.display import remark, show_progress
from shortlist.cli.process import write_option
from shortlist.errors import ParameterError

if TYPE_CHECKING:
    from shortlist.votes.check import Check

EXAMPLE = r"""shortlist check plays/*.parquet --person user_id --item track \
    --domain catalogue.csv --output check.txt"""


@options.take_groups
def check(
    item: options.Item,
    person: options.Person = None,
    count: options.Count = None,
    *,
    source: options.Source,
    show_values: Annotated[
        bool, options.option(options.WHAT, "Show some items of the votes. They are private.", "--show-values")
    ] = False,
    output: Annotated[
        Path | None,
        options.option(
            options.OUTPUT, "Write the check to a file that only you may read.", "--output", "-o", metavar="FILE"
        ),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Check how the votes fit the domain. The result is NOT PRIVATE and not for publication.

    It says how many rows match, which rows do not and why. Use it before a release: no release says that a column of
    JSON lines is misspelt, or that lines of CSV could not be read. It is shown on a terminal only, or written to a file
    that only you may read: text, or JSON if the name ends in .json.
    """
    _check_destination(output, force=force, quiet=quiet)
    with show_progress(quiet=quiet) as step:
        from shortlist.votes.check import check as check_votes

        found = check_votes(
            source.read_votes(),
            item=item,
            person=person,
            count=count,
            domain=source.read_domain(),
            domain_column=source.domain_column,
            show_values=show_values,
            memory_limit=source.memory_limit,
            progress=step,
        )
    if output is None:
        print(found.write(write_option))
        return
    _write(found, output, force=force)
    remark(f"wrote {output}; it is not private, and not for publication", quiet=quiet)


def _check_destination(output: Path | None, *, force: bool, quiet: bool) -> None:
    """Refuse a pipe or a redirection, before any data is read: the result could end up where others see it."""
    if output is not None:
        from shortlist.atomic_files import check_target

        check_target(output, force=force)
        if output.exists() and not output.is_file():
            raise ParameterError("`output` must be a file that can be protected", "it is a pipe or a device")
    elif quiet:
        raise ParameterError(
            "`quiet` must go with `output`", "the check would be lost", hint="name a file with `output='check.txt'`"
        )
    elif not (sys.stdout and sys.stdout.isatty()):
        raise ParameterError(
            "a check must be shown on a terminal, because it is not private",
            "standard output is a pipe or a file",
            hint="write it to a file that only you may read: `output='check.txt'`",
        )


def _write(found: Check, output: Path, *, force: bool) -> None:
    import json

    from shortlist.atomic_files import write_whole

    text = json.dumps(found.to_dict(), indent=2) if output.suffix.lower() == ".json" else found.write(write_option)
    before = os.umask(0o077)
    try:
        write_whole(output, lambda file: file.write(f"{text}\n".encode("utf-8", "backslashreplace")), force=force)
    finally:
        os.umask(before)
