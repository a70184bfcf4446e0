"""What engines say stays with the engines."""

import traceback

import pytest

from shortlist.errors import ChangedError, DataError
from shortlist.votes.border import reading


def test_engine_texts_do_not_cross():
    """The text of an engine may quote the data, so neither the error nor its traceback shows it."""
    with pytest.raises(DataError, match=r"the votes could not be read \(ValueError\)") as caught, reading("the votes"):
        raise ValueError("could not convert 'secret'")
    assert not any("could not convert" in line for line in traceback.format_exception(caught.value)[-2:])
    assert caught.value.__suppress_context__


def test_own_errors_pass():
    """An error of the library is already in our words."""
    with pytest.raises(ChangedError, match="moved"), reading("the votes"):
        raise ChangedError("moved")


@pytest.mark.parametrize("text", ["Query interrupted"])
def test_an_interrupt_stays_an_interrupt(text):
    """Ctrl-C during a query is Ctrl-C."""
    with pytest.raises(KeyboardInterrupt), reading("the votes"):
        raise RuntimeError(text)
