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

from collections.abc import Callable
from string import Formatter

Dialect = Callable[[str, str | None], str]
"""Write a parameter by its name, alone or with a value, in the words of Python or of the command line."""


def write_python(name: str, value: str | None) -> str:
    """Write a parameter as in Python. The template has already quoted a value that is a text.

    >>> write_python("epsilon", None), write_python("epsilon", "1"), write_python("mechanism", "'joint'")
    ('epsilon', 'epsilon=1', "mechanism='joint'")
    >>> write_python("domain.Files.header", "False")  # of the files of the domain
    'Files(..., header=False)'
    """
    if value is None:
        return name
    kind, dot, field = name.rpartition(".")
    return f"{kind.rpartition('.')[2]}(..., {field}={value})" if dot else f"{name}={value}"


class ShortlistError(Exception):
    """The base of every error of this library. An error consists of parts.

    `expected` says what must be, `found` what is there instead, and `hint` what to do. Each is a template.
    A placeholder is filled from `values`, word for word. A placeholder without a value is the name of a parameter:
    `{epsilon}` is the parameter itself, and `{epsilon=1}` or `{domain='catalogue.csv'}` is the parameter with a value.
    Python and the command line write parameters differently, so `render` takes the dialect. `str(error)` is in the
    words of Python.

    >>> print(ParameterError("{epsilon} must be above 0", "not {value}", hint="try {epsilon=1}", value=-1))
    epsilon must be above 0, not -1.
    Hint: try epsilon=1
    """

    def __init__(self, expected: str, found: str | None = None, *, hint: str | None = None, **values: object) -> None:
        self.expected = expected
        self.found = found
        self.hint = hint
        self.values = values
        super().__init__(self.render())

    @property
    def parameter(self) -> str | None:
        """The first parameter that `expected` names, or None."""
        return next((name for name in _placeholders(self.expected) if name not in self.values), None)

    def render(self, dialect: Dialect = write_python) -> str:
        """Write the error as text: one sentence, then the hint on its own line."""
        filler = _Filler(self.values, dialect)
        sentence = filler.fill(self.expected)
        if self.found is not None:
            # "not -1" continues the clause. Any other text is a new clause.
            sentence += (", " if self.found.startswith("not ") else "; ") + filler.fill(self.found)
        sentence = sentence if sentence.endswith(".") else f"{sentence}."
        return sentence if self.hint is None else f"{sentence}\nHint: {filler.fill(self.hint)}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.expected, self.found, self.hint, self.values)


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
            "{purpose} needs the optional part {extra!r}, which is not installed",
            hint="install it: pip install 'shortlist[{extra}]', or pip install '.[{extra}]' in the folder of shortlist",
            purpose=purpose,
            extra=extra,
        )


class _Filler(Formatter):
    """Fill placeholders from values, and parameters in a dialect."""

    def __init__(self, values: dict[str, object], dialect: Dialect) -> None:
        self._values = values
        self._dialect = dialect

    def fill(self, template: str) -> str:
        return self.vformat(template, (), self._values)

    def get_field(self, field_name: str, args: object, kwargs: object) -> tuple[object, str]:
        if field_name in self._values:
            return self._values[field_name], field_name
        name, _, value = field_name.partition("=")
        return self._dialect(name, value or None), name


def _placeholders(template: str) -> list[str]:
    return [name.partition("=")[0] for _, name, _, _ in Formatter().parse(template) if name]


def _rebuild(
    kind: type[ShortlistError], expected: str, found: str | None, hint: str | None, values: dict[str, object]
) -> ShortlistError:
    """Read a pickled error."""
    error = kind.__new__(kind)
    ShortlistError.__init__(error, expected, found, hint=hint, **values)
    return error
