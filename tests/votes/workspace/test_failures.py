"""What engines say stays with the engines."""

import traceback

import pytest
from tallying import tally

from shortlist.errors import ChangedError, DataError
from shortlist.votes.failures import strip_context, translate_errors


def test_engine_texts_do_not_cross():
    """The text of an engine may quote the data, so neither the error nor its traceback shows it."""
    with (
        pytest.raises(DataError, match=r"the votes could not be read \(ValueError\)") as caught,
        translate_errors("the votes"),
    ):
        raise ValueError("could not convert 'secret'")
    assert not any("could not convert" in line for line in traceback.format_exception(caught.value)[-2:])
    assert caught.value.__suppress_context__


def test_errors_have_no_context():
    """What the way in raises carries no error of an engine with it."""

    @strip_context
    def fail():
        with translate_errors("the votes"):
            raise ValueError("could not convert 'secret'")

    with pytest.raises(DataError) as caught:
        fail()
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_own_errors_pass():
    """An error of the library is already in our words."""
    with pytest.raises(ChangedError, match="moved"), translate_errors("the votes"):
        raise ChangedError("moved")


@pytest.mark.parametrize("text", ["Query interrupted"])
def test_an_interrupt_stays_an_interrupt(text):
    """Ctrl-C during a query is Ctrl-C."""
    with pytest.raises(KeyboardInterrupt), translate_errors("the votes"):
        raise RuntimeError(text)


def test_spark_prints_nothing(spark, capfd):
    """PySpark prints its errors by itself, values and all; not while it reads for us."""
    frame = spark.createDataFrame([("1", "secret")], "user string, track string")
    frame = frame.selectExpr("user", "CAST(CAST(track AS INT) AS STRING) AS track")
    with pytest.raises(DataError, match="could not be read") as caught:
        tally(frame, person="user", item="track", domain=["a"])
    assert "secret" not in str(caught.value) + "".join(capfd.readouterr())
