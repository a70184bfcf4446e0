"""`shortlist mechanisms`, `audit` and `conformance`: what mechanisms promise, whether it holds here, and their laws."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import typer

import shortlist
from shortlist.cli.app import app, command, make_group
from shortlist.cli.display import check_output, remark, show_progress, write_output
from shortlist.cli.options import QUIET, WHAT, Option, complete_mechanism, under, write_to
from shortlist.errors import ParameterError
from shortlist.safe_text import escape

# Letters that every terminal can show.
_LETTERS = {
    "ε′": "r",
    "ε": "epsilon",
    "δ": "delta",
    "β": "beta",
    "ρ": "rho",
    "²": "^2",
    "₁": "_1",
    "₂": "_2",
    "·": "*",
    "–": "-",
}
_NOTES = (
    "The guarantee is for the --neighbours that you choose. rho (zCDP) is a second guarantee, to add up many releases; "
    "r is what each of the k rounds of cdp-peel may spend. All mechanisms of shortlist are exact, without "
    "floating-point noise."
)
_WIDEST = 100
_NOT_DECIDED = 3
"""The exit code if no check failed, and some had no power. 2 is for wrong parameters."""


@command(app, "shortlist mechanisms", {}, summary="Say what each mechanism promises.")
def mechanisms() -> None:
    """List the mechanisms: what each promises, and when to take it."""
    from shortlist.mechanisms import MECHANISMS, find_kind, find_registered

    for name, kind in {**MECHANISMS, **{name: find_kind(name) for name in find_registered()}}.items():
        rho = kind.rho_in_words if kind.rho_in_words.startswith("ρ") else f"rho {kind.rho_in_words}"
        print(name)
        for text in (kind.summary, f"take it when {kind.when}", f"guarantee {kind.guarantee_in_words}; {rho}"):
            _print_paragraph(text, indent="    ")
    for name, registered in find_registered().items():
        package = registered.dist.name if registered.dist else registered.module
        _print_paragraph(f"{name} comes from the package {package}, whose author states the guarantee.", indent="")
    print()
    _print_paragraph(_NOTES, indent="")


def _print_paragraph(text: str, *, indent: str) -> None:
    for letter, spelling in _LETTERS.items():
        text = text.replace(letter, spelling)
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    print(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))


@command(
    app,
    "shortlist audit --mechanism margin-joint --output audit.json",
    under(
        WHAT,
        mechanism=Option(
            "NAME | Check this mechanism only; may be repeated. [default: all that may make secure releases, "
            "what is bought beside a list, and tables]",
            kind=list[str],
            complete=complete_mechanism,
        ),
        epsilon=Option("NUMBER | The epsilon that mechanisms are checked with.", "1"),
        trials=Option("N | How many lists each sample draws, from 1000.", 5000),
    ),
    write_to("Write the report as JSON."),
    QUIET,
    summary="Check that mechanisms keep their promise.",
)
def audit(*, mechanism: list[str] | None, output: Path | None, force: bool, quiet: bool, **asked: Any) -> None:
    """Check on this machine that mechanisms keep their promise.

    It enumerates exact laws, draws with the operating system's randomness, bounds epsilon from samples, and counts
    tables with one hostile person more on every engine that is installed. The exit code is 1 if a check fails, and 3
    if none fails but some are not decided: they could not have noticed an error, and need more trials.
    """
    check_output(output, (".json",), force=force)
    with show_progress() as step:
        report = shortlist.audit(mechanism or None, **asked, tables=not mechanism, progress=step)
    if output is not None:
        report.to_json(output, force=force)
        remark(f"wrote {output}")
    print("\n".join(escape(line) for line in str(report).splitlines()))
    if not report.passed:
        raise typer.Exit(1 if report.result == "fail" else _NOT_DECIDED)


_EXPORT = "shortlist conformance export --output laws.json"
conformance = make_group(
    "conformance", "Let other implementations test themselves.", "Write exact laws, to test other code.", _EXPORT
)


@command(
    conformance, _EXPORT, write_to("Write to this file, not to standard output."), summary="Write exact laws as JSON."
)
def export(*, output: Path | None, force: bool) -> None:
    """Write the exact laws of all mechanisms on small histograms as JSON, with parameters and neighbours.

    docs/conformance.md describes the format.
    """
    check_output(output, (".json",), force=force)
    if output is None and sys.stdout.isatty():
        raise ParameterError(
            "the laws must go to a file or a pipe, because they are megabytes of JSON",
            "standard output is a terminal",
            hint="write them to a file: `output='laws.json'`",
        )
    with show_progress() as step:
        from shortlist.audits.conformance import write_conformance

        step("Enumerating laws")
        text = write_conformance()
    write_output(output, text, force=force)
    if output is None:
        print(text, end="")
