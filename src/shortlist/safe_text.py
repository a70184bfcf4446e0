"""Text that comes from data, made safe to show."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

LONGEST_LINE = 200
_LONGEST_WORDS = 40
_SHOWN_SPACES = "Zs"


def escape(value: object) -> str:
    r"""Write a value as text in which nothing can steer a terminal or change the direction of reading.

    Control characters, line ends, bidirectional marks, invisible characters and lone surrogates become escapes.

    >>> print(escape("a\x1b[2Jb\nc"), escape("abc\u202edef"))
    a\x1b[2Jb\nc abc\u202edef
    """
    return "".join(each if is_visible(each) else each.encode("unicode_escape").decode() for each in str(value))


def escape_surrogates(text: str) -> str:
    r"""Write lone surrogates, which UTF-8 cannot hold, as escapes. Other text is returned as it is.

    >>> print(escape_surrogates("a\ud800b"), escape_surrogates("é"))
    a\ud800b é
    """
    return text.encode("utf-8", "backslashreplace").decode()


def join_words(words: Sequence[str], last: str) -> str:
    """Join words as in a sentence.

    >>> join_words(["a", "b", "c"], "or"), join_words(["a"], "and")
    ('a, b or c', 'a')
    """
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def is_visible(character: str) -> bool:
    """Whether a character shows as itself, or as a space."""
    return character.isprintable() or unicodedata.category(character) == _SHOWN_SPACES


def is_line(value: object) -> bool:
    """Whether a value is a short text on one line, such as a name or a note."""
    return isinstance(value, str) and value.isprintable() and 0 < len(value) <= LONGEST_LINE


def is_words(value: object) -> bool:
    """Whether a value is a word or a few words, such as a unit or the name of a mechanism: it can hold no sentence.

    >>> is_words("person-week"), is_words("my_mechanism"), is_words("joint. Publish all of it")
    (True, True, False)
    """
    return isinstance(value, str) and re.sub("[ _-]", "", value).isalnum() and len(value) <= _LONGEST_WORDS
