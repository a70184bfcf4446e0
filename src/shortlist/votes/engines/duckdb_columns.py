"""The SQL that takes a column of DuckDB as it is: without a collation, and in a type that Arrow has."""

from __future__ import annotations

import re
from typing import Any

_TEXT_IN_ARROW = re.compile(r"UUID|JSON|UHUGEINT|BIGNUM|ENUM\(.*", re.DOTALL)
_NEVER_ITEMS = re.compile(r"BIT|TIME WITH TIME ZONE|TIME_NS|INTERVAL|VARIANT|GEOMETRY.*")
_NEVER_PERSONS = re.compile(r"^(STRUCT|MAP|UNION|VARIANT|GEOMETRY|INTERVAL)\b|\]$")
_PERSONS_AS_TEXT = re.compile(r"U?HUGEINT|BIGNUM|BIT|TIME WITH TIME ZONE|ENUM\(.*", re.DOTALL)


def take_plain_columns(relation: Any) -> Any:
    """Take columns as `item` and `other`, without collation, and items in a type that Arrow has.

    They are taken by position, because DuckDB takes two names that differ in case for one.
    """
    item, *others = map(str, relation.types)
    other = "" if not others else f", {_other_expression(others[0])} AS other"
    return relation.project(f"{_item_expression(item)} AS item{other}")


def has_plain_persons(plain: Any) -> bool:
    """Whether the values of the column `other` can be persons."""
    return not _NEVER_PERSONS.search(str(plain.types[1]))


def _item_expression(kind: str) -> str:
    if _NEVER_ITEMS.fullmatch(kind):
        return "CAST(NULL AS STRUCT(nothing INTEGER))"
    if kind == "HUGEINT":
        # Arrow has no wider numbers, and an item of the domain has at most 38 digits.
        return "TRY_CAST(#1 AS DECIMAL(38, 0))"
    if _TEXT_IN_ARROW.fullmatch(kind):
        return 'CAST(#1 AS VARCHAR) COLLATE "binary"'
    return _uncollate(kind, "#1")


def _other_expression(kind: str) -> str:
    return 'CAST(#2 AS VARCHAR) COLLATE "binary"' if _PERSONS_AS_TEXT.fullmatch(kind) else _uncollate(kind, "#2")


def _uncollate(kind: str, column: str) -> str:
    return f'{column} COLLATE "binary"' if kind == "VARCHAR" else column
