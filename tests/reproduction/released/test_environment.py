"""The environment of the released programs: one that is named, or one that is made."""

import pytest

from reproduction.released import environment
from shortlist.errors import OutputError


def test_a_named_interpreter_is_taken(monkeypatch, tmp_path):
    """Nothing is made."""
    monkeypatch.setenv(environment.VARIABLE, str(tmp_path / "python"))
    assert environment.find_python() == tmp_path / "python"
    assert list(tmp_path.iterdir()) == []


def test_an_environment_that_cannot_be_made_is_reported(monkeypatch, tmp_path):
    """The text names the variable by which another interpreter can be given."""
    monkeypatch.delenv(environment.VARIABLE, raising=False)
    (tmp_path / "shortlist").write_text("a file, where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(OutputError, match=environment.VARIABLE):
        environment.find_python()


def test_an_environment_that_is_ready_is_used_again(monkeypatch, tmp_path):
    """It is made once."""
    monkeypatch.delenv(environment.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    [name] = [
        f"released-numpy-{environment.choose_numpy()}-py{environment.sys.version_info[0]}{environment.sys.version_info[1]}"
    ]
    folder = tmp_path / "shortlist" / name
    folder.mkdir(parents=True)
    (folder / "ready").touch()
    assert environment.find_python().parent.parent == folder
