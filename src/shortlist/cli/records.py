"""`shortlist show`, `explain` and `verify`: what a record says, in a table, in words, and whether it was charged."""

from __future__ import annotations

from pathlib import Path

import shortlist
from shortlist.cli.app import app, command
from shortlist.cli.display import print_lines, print_release
from shortlist.cli.options import ARGUMENTS, BUDGET, OUTPUT, PRINTED, QUIET, REQUIRED, Format, Option, Options, under
from shortlist.cli.process import make_stdout_exact
from shortlist.errors import ParameterError
from shortlist.votes.failures import hide_secrets

_MAKE = r"""shortlist select plays --person user_id --item track \
    --domain catalogue.csv -k 3 --epsilon 1 --output top3.json"""
_VERIFY = f"""shortlist ledger create budget.db --epsilon 10
{_MAKE} \\
    --ledger budget.db
shortlist verify top3.json --ledger budget.db"""

_RECORD: Options = under(
    ARGUMENTS, record=Option("RECORD | The record of a release: .json, or .parquet.", REQUIRED, Path)
)
_REGISTRY: Options = under(
    OUTPUT, registry="Print an entry for the public registry of deployments in its place, as YAML with gaps."
)


@command(app, f"{_MAKE}\nshortlist show top3.json", _RECORD, PRINTED, _REGISTRY, summary="Print a release again.")
def show(*, record: Path, printed: Format, registry: bool) -> None:
    """Print a release again, from its record. A record that contradicts itself is refused."""
    if registry and printed is not Format.TABLE:
        raise ParameterError("`format` must not go with `registry`", "an entry is always YAML")
    release = _read(record)
    if registry:
        make_stdout_exact()
        print(release.to_registry(), end="")
        return
    print_release(release, printed)


@command(app, f"{_MAKE}\nshortlist explain top3.json", _RECORD, summary="Explain a release to its readers.")
def explain(*, record: Path) -> None:
    """Write a paragraph about a release, for readers who do not know differential privacy."""
    print_lines(_read(record).explain())


@command(
    app,
    _VERIFY,
    _RECORD,
    under(BUDGET, ledger=Option("LEDGER | The ledger that the release was charged to.", REQUIRED)),
    QUIET,
    summary="Find the charge of a release.",
)
def verify(*, record: Path, ledger: str, quiet: bool) -> None:
    """Say whether a record is the one that was charged to a ledger. The exit code is 1 if it is not."""
    charge = shortlist.Ledger.open(ledger).verify(_read(record))
    print_lines(
        f"{record} is the release of charge {charge.number:,} of {hide_secrets(ledger)}, made "
        f"{charge.made:%Y-%m-%d %H:%M} UTC by {charge.user} on {charge.host}."
    )


def _read(path: Path) -> shortlist.release.Publication:
    kind = shortlist.release.Publication
    return kind.from_parquet(path) if path.suffix.lower() == ".parquet" else kind.from_json(path)
