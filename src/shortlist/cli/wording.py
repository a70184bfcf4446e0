"""The library's error texts, in the words of the command line: options in place of Python's parameters."""

from __future__ import annotations

import re

_PHRASES = {
    "pass force to": "pass --force to",
    "pass domain= a file ('catalogue.csv'), a list, or a column or frame of your catalogue": (
        "pass --domain with a file that lists them, say catalogue.csv"
    ),
    "pass bits=SeededBits(...) and": "pass --seed and --insecure, and",
    "mechanism='joint'": "--mechanism joint",
    "leave sensitivity out": "leave --sensitivity out",
    "sensitivity must go with count:": "--sensitivity must go with --count:",
    "database and sql must": "--database and --sql must",
    "votes or database must": "FILES or --database must",
    "must come with database,": "must come with --database,",
    "person or count must": "--person or --count must",
    "count= the counts": "--count names the counts",
    ", or a mechanism object;": ";",
    " (an int, float, Fraction, Decimal or decimal string)": " such as 1, 0.5 or 1/3",
    "open it with your engine and pass the frame": "copy it here first, or query it in Python",
    "; in pandas, a column of whole numbers with gaps is 'Int64'": "",
}
_SINGLE = "beta|count|database|delta|domain|epsilon|item|k|mechanism|neighbours|person|sensitivity|sql|unit"
_JOINED = "domain_column|domain_sql|memory_limit"

# What is quoted was written by the user: a column, a file or a value. An apostrophe inside a word quotes nothing.
_QUOTED = re.compile(r"""((?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*")""")
_GIVEN = re.compile(rf"(?<![\w-])({_SINGLE}|{_JOINED})= ?")
_NAMED = re.compile(rf"(?<![\w-])({_JOINED})(?!\w)")


def in_options(message: str) -> str:
    """Say options where a message says parameters; what stands in quotes is left alone.

    >>> in_options("memory_limit must be a size, not 'k=1'.\\nHint: try epsilon=1")
    "--memory-limit must be a size, not 'k=1'.\\nHint: try --epsilon 1"
    """
    for phrase, words in _PHRASES.items():
        message = message.replace(phrase, words)
    parts = _QUOTED.split(message)
    parts[::2] = [_NAMED.sub(_option, _GIVEN.sub(lambda found: f"{_option(found)} ", each)) for each in parts[::2]]
    return "".join(parts)


def _option(found: re.Match[str]) -> str:
    name = found[1].replace("_", "-")
    return f"--{name}" if len(name) > 1 else f"-{name}"
