"""`shortlist audit`: check on this machine that the guarantee holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shortlist.cli import options
from shortlist.cli.display import check_output, remark, show_progress
from shortlist.safe_text import escape

EXAMPLE = "shortlist audit --mechanism margin-joint --output audit.json"

_NOT_DECIDED = 3
"""The exit code if no check failed, and some had no power. 2 is for wrong parameters."""

Only = Annotated[
    list[str] | None,
    options.option(
        options.WHAT,
        "Check this mechanism only; may be repeated. [default: all that may make secure releases, and tables]",
        metavar="NAME",
        autocompletion=options.complete_mechanism,
    ),
]
Epsilon = Annotated[
    str, options.option(options.WHAT, "The epsilon that mechanisms are checked with.", metavar="NUMBER")
]
Trials = Annotated[int, options.option(options.WHAT, "How many lists each sample draws, from 1000.", metavar="NUMBER")]
Output = Annotated[
    Path | None, options.option(options.OUTPUT, "Write the report as JSON.", "--output", "-o", metavar="FILE")
]


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
    if output is not None:
        check_output(output, (".json",), force=force)
    with show_progress(quiet=quiet) as step:
        from shortlist.audits.run import audit as run_audit

        report = run_audit(mechanism or None, epsilon=epsilon, trials=trials, tables=not mechanism, progress=step)
    if output is not None:
        report.to_json(output, force=force)
        remark(f"wrote {output}", quiet=quiet)
    if not quiet:
        print("\n".join(escape(line) for line in str(report).splitlines()))
    if not report.passed:
        raise typer.Exit(1 if report.result == "fail" else _NOT_DECIDED)
