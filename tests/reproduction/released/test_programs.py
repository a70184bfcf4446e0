"""The released programs are found in a folder, and others than those are refused."""

import pytest

from reproduction.released.programs import find_programs, hash_program
from shortlist.errors import DataError


def test_a_missing_program_is_named_with_its_address(tmp_path):
    """The text says what to clone."""
    with pytest.raises(DataError, match=r"has no FastTopk\.py.\nHint: clone https://github.com/wuhao-wu-jiang"):
        find_programs(tmp_path)
    with pytest.raises(DataError, match="released must name a folder"):
        find_programs(tmp_path / "absent")


def test_another_content_is_refused(tmp_path):
    """A changed program is not the one that the paper timed."""
    for place, names in (
        ("authors", ("FastTopk.py", "DP_Parameters.py")),
        ("google-research/dp_topk", ("joint.py", "baseline_mechanisms.py", "differential_privacy.py")),
    ):
        (tmp_path / place).mkdir(parents=True)
        for name in names:
            (tmp_path / place / name).write_text("print('changed')\n")
    with pytest.raises(DataError, match=r"as released; .*FastTopk\.py has another content"):
        find_programs(tmp_path)
    (tmp_path / "authors" / "DP_Parameters.py").unlink()
    with pytest.raises(DataError, match=r"authors has no DP_Parameters\.py"):
        find_programs(tmp_path)


def test_comments_and_line_ends_do_not_change_a_hash(tmp_path):
    """Google's copyright line has another year every year."""
    one, other, third = (tmp_path / name for name in ("one.py", "other.py", "third.py"))
    one.write_bytes(b"# Copyright 2022\nx = 1\n")
    other.write_bytes(b"# Copyright 2026\r\nx = 1\r\n")
    third.write_bytes(b"# Copyright 2026\nx = 2\n")
    assert hash_program(one) == hash_program(other) != hash_program(third)
