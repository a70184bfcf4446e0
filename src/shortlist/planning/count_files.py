"""Counts from files: one row for each item, with its name and its count."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.errors import DataError
from shortlist.planning.inputs import Histogram, read_histogram
from shortlist.votes.duckdb import Workspace
from shortlist.votes.failures import strip_context
from shortlist.votes.files import open_files

_NAME = "the table of counts"
_WHOLE = "^[+-]?[0-9]{1,19}$"


@strip_context
def read_count_files(files: Any, *, item: str, count: str) -> Histogram:
    """Read a Parquet, CSV or JSON lines file with a column of items and a column of counts."""
    workspace = Workspace(memory_limit=None)
    opened = open_files(workspace, files, choose=lambda header: header.take([item, count], where=_NAME), name=_NAME)
    with opened.explain_failures("is the file complete, and are all its rows alike?"):
        relation = opened.make(False)
        names, numbers = relation.columns
        text = f'trim(CAST("{_quote(numbers)}" AS VARCHAR))'
        whole = f"CASE WHEN regexp_matches({text}, '{_WHOLE}') THEN TRY_CAST({text} AS BIGINT) END"
        table = relation.project(f'CAST("{_quote(names)}" AS VARCHAR) AS item, {whole} AS votes').fetchnumpy()
    items, votes = table["item"], table["votes"]
    if _has_gaps(items) or _has_gaps(votes):
        raise DataError(
            f"{_NAME} must have an item and a whole number in each row",
            "some rows have no item" if _has_gaps(items) else "some counts are missing or no whole numbers",
            hint="is it the right column? Write 1000, not 1,000 or 1000.0",
        )
    labels = [str(each) for each in items.tolist()]
    if len(set(labels)) < len(labels):
        raise DataError(
            f"{_NAME} must name each item once",
            "some items have several rows, as in a table of votes",
            hint="count the votes of each item first; `like='zipf'` plans without any data",
        )
    return read_histogram(dict(zip(labels, votes.tolist(), strict=True)), source=f"the counts in column {count!r}")


def _has_gaps(values: Any) -> bool:
    return bool(np.any(getattr(values, "mask", False)))


def _quote(name: str) -> str:
    return name.replace('"', '""')
