"""A key that is released once: the request that used it, and the release that the ledger keeps for it.

A scheduler repeats a run that failed. With a key, the ledger stores the release before it is handed out. The same
request with the same key gives the stored release again, and costs nothing, because nothing new is computed. A charge
without a stored release is spent: whether a run failed may depend on the data, so a free repetition would reveal that
for nothing.

A request is compared by its parameters, by the names of columns and by how the votes and the domain were named (paths,
queries). What the votes hold is never compared: whether a repetition is refused must not depend on it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from shortlist.errors import LedgerError, ParameterError
from shortlist.ledger.rows import Row, Transaction, insert
from shortlist.record import encode_parameters
from shortlist.release import Publication
from shortlist.terms import Terms, check_text

_NAMED = ("Files", "Query")
_PLAIN = (str, int, float, bool, bytes)


class ReleasedBeforeError(LedgerError):
    """The key was released by another run before this one was charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A key and the request for it: a short digest of each parameter."""

    key: str
    request: Mapping[str, str]

    @classmethod
    def read(cls, key: str, terms: Terms, votes: Any, asked: Mapping[str, Any]) -> Once:
        """Describe a request. `votes` are compared by their name if they have one."""
        text = check_text(key, name="once")
        if text is None:  # a variable of a scheduler that is not set would be charged again and again
            raise ParameterError("`once` must be a key", "it is empty")
        public = {
            **encode_parameters(terms.parameters),
            "mechanism": terms.mechanism.name,
            "unit": terms.guarantee.unit,
            "votes": _describe(votes, rows=True),
            **{name: _describe(value) for name, value in asked.items()},
        }
        given = {name: value for name, value in public.items() if value is not None}
        return cls(key=text, request={name: _digest(value) for name, value in given.items()})

    def recall(self, transaction: Transaction) -> Publication | None:
        """Read the release that is stored under the key; None if there is none. Refuse it for another request."""
        row = transaction.execute("SELECT * FROM stored WHERE once_key = :key", {"key": self.key}).fetchone()
        if row is None:
            return None
        if row["request"] != self._write():
            before = json.loads(row["request"])
            names = sorted(before.keys() | self.request.keys())
            other = [name for name in names if before.get(name) != self.request.get(name)]
            raise ParameterError(
                "`once` must be a new key for another request",
                f"this key was released as charge {row['id']:,}, for another {', '.join(other)}",
                hint="repeat the same request to get its release again, or choose another key",
            )
        release = Publication.from_json(row["record"])
        if release.to_json() != row["record"]:
            raise LedgerError(
                "the release of this key must be read by the version that made it", f"it was made by {release.version}"
            )
        return release

    def store(self, transaction: Transaction, number: int, release: Publication) -> None:
        """Store the release of a charge under the key."""
        row: Row = {"id": number, "once_key": self.key, "request": self._write(), "record": release.to_json()}
        insert(transaction, "stored", row)

    def _write(self) -> str:
        return json.dumps(self.request, sort_keys=True)


def _describe(value: Any, *, rows: bool = False) -> Any:
    """Describe a parameter. Rows and tables in memory are not described."""
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, date):
        return str(value)
    if type(value).__name__ in _NAMED:
        return repr(value)
    if isinstance(value, list | tuple) and (not rows or all(isinstance(each, str | os.PathLike) for each in value)):
        return [_describe(each) for each in value]
    if isinstance(value, dict) and not rows:
        return {str(name): _describe(each) for name, each in value.items()}
    return "in memory"


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode(errors="backslashreplace")).hexdigest()[:16]
