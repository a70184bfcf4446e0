"""Parameters in the words of the command line: options in place of Python's parameters."""

from __future__ import annotations

_WORDS = {
    "Files.format": "--input-format or --domain-format",
    "bits": "--seed and --insecure",
    "counts": "the counts",
    "domain.Files.header": "--domain-no-header and --domain-column 1",
    "guarantees": "the guarantees",
    "k": "-k",
    "ordered": "--any-order",
    "shortlist.Query(database, sql)": "--database and --sql",
    "votes": "FILES",
    "votes.Files.header": "--no-header",
    "without_domain": "--no-domain",
}
"""Parameters whose option is not called like them."""


def write_option(name: str, value: str | None) -> str:
    """Write a parameter as an option, alone or with a value.

    >>> write_option("memory_limit", None), write_option("epsilon", "1"), write_option("mechanism", "'joint'")
    ('--memory-limit', '--epsilon 1', '--mechanism joint')
    >>> write_option("force", "True"), write_option("bits", "SeededBits(7)"), write_option("k", "10")
    ('--force', '--seed and --insecure', '-k 10')
    >>> write_option("k", "(5, 10)")
    '-k 5-10'
    """
    option = _WORDS.get(name, f"--{name.replace('_', '-')}")
    if value is None or value == "True" or name in ("bits", "ordered") or name.endswith(".header"):
        return option
    # A range of sizes is a pair in Python.
    return f"{option} {value.strip('()').replace(', ', '-') if name == 'k' else value.strip(chr(39))}"
