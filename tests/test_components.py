"""A missing component fails a build, and skips a test elsewhere."""

import pytest
from components import require_component


def test_what_was_found_is_returned():
    """A component that is there is given back."""
    assert require_component("Java", "/usr/bin/java", "install it") == "/usr/bin/java"


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_what_is_missing_is_named(ci, outcome, monkeypatch):
    """The outcome says what is missing, and how to get it."""
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="Java is missing: install Java 17"):
        require_component("Java", None, "install Java 17")
