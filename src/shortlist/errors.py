"""Everything this library raises on purpose.

    ShortlistError
    ├── ParameterError      a parameter, before any data is seen
    ├── DataError           counts, votes or a domain that cannot be used
    │   └── ChangedError    the data changed between two reads
    ├── OutputError         a file that cannot be written, or is in the way
    └── MissingExtraError   an optional part of the library is not installed

Error texts may be published: they name parameters, columns and files, never an item or a count.
"""


class ShortlistError(Exception):
    """What every error of this library is.

    The text says what was expected, then what was found; the hint, if any, stands on its own line.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")


class ParameterError(ShortlistError, ValueError):
    """A parameter is wrong, whatever the data."""


class DataError(ShortlistError, ValueError):
    """Counts, votes or a domain cannot be used as they are."""


class ChangedError(DataError):
    """The data changed between two reads of one selection."""


class OutputError(ShortlistError, OSError):
    """A result could not be written, and nothing was."""


class MissingExtraError(ShortlistError, ImportError):
    """An optional part of the library is not installed."""

    def __init__(self, extra: str, *, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the optional part {extra!r}, which is not installed.",
            hint=f"install shortlist[{extra}], for example by pip install '.[{extra}]' in the folder of shortlist",
        )
