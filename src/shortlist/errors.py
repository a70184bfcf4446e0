"""Every error that this library raises on purpose.

    ShortlistError
    ├── ParameterError      a parameter is wrong, before any data is seen
    ├── DataError           counts, votes, a domain or a record cannot be used
    │   └── ChangedError    the data changed between two reads
    ├── OutputError         a file cannot be written, or is in the way
    ├── LedgerError         a ledger cannot be read or written
    │   └── BudgetError     the budget of a ledger does not cover a release
    └── MissingExtraError   an optional part of the library is not installed

Error texts may be published. They name parameters, columns and files, never an item or a count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Dialect = Callable[[str, str | None], str]
"""Write a parameter by its name, alone or with a value, in the words of Python or of the command line."""

_NAME = re.compile(r"`([A-Za-z_][\w.]*(?:\([\w, ]*\))?)(?:=([^`]*))?`")
"""A parameter in a text: `epsilon`, with a value `epsilon=1`, or a value alone `shortlist.Query(database, sql)`."""


def write_python(name: str, value: str | None) -> str:
    """Write a parameter as in Python. The text has already quoted a value that is a text.

    >>> write_python("epsilon", None), write_python("epsilon", "1"), write_python("mechanism", "'joint'")
    ('epsilon', 'epsilon=1', "mechanism='joint'")
    >>> write_python("domain.Files.header", "False")  # of the files of the domain
    'Files(..., header=False)'
    """
    if value is None:
        return name
    kind, dot, field = name.rpartition(".")
    return f"{kind.rpartition('.')[2]}(..., {field}={value})" if dot else f"{name}={value}"


def write_names(text: str, dialect: Dialect = write_python) -> str:
    """Write a text with its parameters, which stand between backticks, in the words of Python or the command line.

    >>> write_names("pass `epsilon=1` or `rho`")
    'pass epsilon=1 or rho'
    """
    return _NAME.sub(lambda found: dialect(found[1], found[2]), text)


class ShortlistError(Exception):
    """The base of every error of this library. An error consists of parts.

    `expected` says what must be, `found` what is there instead, and `hint` what to do. Parameters stand between
    backticks, alone or with a value. Python and the command line write them differently, so `render` takes the
    dialect. `str(error)` is in the words of Python.

    >>> print(ParameterError("`epsilon` must be above 0", "not -1", hint="try `epsilon=1`"))
    epsilon must be above 0, not -1.
    Hint: try epsilon=1
    """

    def __init__(self, expected: str, found: str | None = None, *, hint: str | None = None) -> None:
        self.expected = expected
        self.found = found
        self.hint = hint
        super().__init__(self.render())

    def render(self, dialect: Dialect = write_python) -> str:
        """Write the error as text: one sentence, then the hint on its own line."""
        sentence = self.expected
        if self.found is not None:
            # "not -1" continues the clause. Any other text is a new clause.
            sentence += (", " if self.found.startswith("not ") else "; ") + self.found
        sentence = sentence if sentence.endswith(".") else f"{sentence}."
        text = sentence if self.hint is None else f"{sentence}\nHint: {self.hint}"
        return write_names(text, dialect)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.expected, self.found, self.hint)


class ParameterError(ShortlistError, ValueError):
    """A parameter is wrong. This does not depend on the data."""


class DataError(ShortlistError, ValueError):
    """Counts, votes, a domain or a record cannot be used as they are."""


class ChangedError(DataError):
    """The data changed between two reads of one selection."""


class OutputError(ShortlistError, OSError):
    """A result could not be written. No part of it was written."""


class LedgerError(ShortlistError):
    """A ledger cannot be read or written, so no release is made."""


class BudgetError(LedgerError):
    """The budget of a ledger does not cover a release. Nothing was charged, and nothing was computed."""


class MissingExtraError(ShortlistError, ImportError):
    """An optional part of the library is not installed."""

    def __init__(self, extra: str, *, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the optional part {extra!r}, which is not installed",
            # This is right whether or not shortlist came from an index: pip adds to what is installed.
            hint=f"run pip install 'shortlist[{extra}]'",
        )


def refuse_given(
    given: Mapping[str, object], partner: str, found: str | None = None, *, hint: str | None = None
) -> None:
    """Refuse parameters that mean nothing without a partner, which is not there. Those that are None are not given.

    >>> refuse_given({"items": None, "people": 9}, "`like`", "counts were given")
    Traceback (most recent call last):
    shortlist.errors.ParameterError: people must go with like; counts were given.
    """
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"`{name}` must go with {partner}", found, hint=hint)


def _rebuild(kind: type[ShortlistError], expected: str, found: str | None, hint: str | None) -> ShortlistError:
    """Read a pickled error."""
    error = kind.__new__(kind)
    ShortlistError.__init__(error, expected, found, hint=hint)
    return error
