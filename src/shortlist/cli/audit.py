"""`shortlist audit`: check on this machine that the guarantee holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shortlist.cli import options
from shortlist.cli.display import remark, show_progress
from shortlist.errors import ParameterError
from shortlist.safe_text import escape

EXAMPLE = "shortlist audit --mechanism margin-joint --output audit.json"

_NOT_DECIDED = 3
"""The exit code if no check failed, and some had no power. 2 is for wrong parameters."""

Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Check this mechanism only; may be repeated. [default: all that may make secure releases, and tables]",
        autocompletion=options.complete_mechanism,
    ),
]
Epsilon = Annotated[str, typer.Option(metavar="NUMBER", help="The epsilon that mechanisms are checked with.")]
Trials = Annotated[int, typer.Option(metavar="NUMBER", help="How many lists each sample draws, from 1000.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the report as JSON.")]


def audit(
    mechanism: Only = None,
    epsilon: Epsilon = "1",
    trials: Trials = 5000,
    output: Output = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Check on this machine that mechanisms keep their promise.

    It enumerates exact laws, draws with the operating system's randomness, bounds epsilon from samples, and counts
    tables with one hostile person more on every engine that is installed. The exit code is 1 if a check fails, and 3
    if none fails but some are not decided: they could not have noticed an error, and need more trials.
    """
    from shortlist.atomic_files import check_target

    if output is not None:
        if output.suffix.lower() != ".json":
            raise ParameterError("{output} must end in .json", "not {path}", path=repr(str(output)))
        check_target(output, force=force)
    with show_progress(quiet=quiet) as step:
        from shortlist.audits.run import audit as run_audit

        report = run_audit(mechanism or None, epsilon=epsilon, trials=trials, tables=not mechanism, progress=step)
    if output is not None:
        report.to_json(output, force=force)
        remark(f"wrote {output}", quiet=quiet)
    if not quiet:
        print(escape_lines(str(report)))
    if not report.passed:
        raise typer.Exit(1 if report.result == "fail" else _NOT_DECIDED)


def escape_lines(text: str) -> str:
    """Escape what a terminal would obey, and keep the lines."""
    return "\n".join(escape(line) for line in text.splitlines())
