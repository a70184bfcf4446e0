"""Find the released programs in a folder, and check that they are the ones the paper ran."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shortlist.errors import DataError

AUTHORS = "https://github.com/wuhao-wu-jiang/Differentially-Private-Top-k-Selection"
GOOGLE = "https://github.com/google-research/google-research/tree/master/dp_topk"

# SHA-256 of each file without its comment lines. Google changes the year of the copyright line every year; the program
# itself has not changed since August 2022.
_AUTHORS_FILES = {
    "FastTopk.py": "d6aa022f028d4651",
    "DP_Parameters.py": "874687fdd1f80bfa",
}
_GOOGLE_FILES = {
    "joint.py": "6d5b0cddc0248756",
    "baseline_mechanisms.py": "60b0221b5bd51ffd",
    "differential_privacy.py": "24a83c61ef851985",
}
_DEPTH = 3
_PASSED_OVER = {"__pycache__", "node_modules", "site-packages"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """The folders of the released programs, and the hash of each of their files."""

    fastjoint: Path
    """The folder of the authors' FastTopk.py."""
    dp_topk: Path
    """The folder dp_topk of Google Research."""
    hashes: dict[str, str]


def find_programs(folder: Path) -> Programs:
    """Find both programs in a folder or up to three folders below it, and check their hashes."""
    if not folder.is_dir():
        raise DataError("{released} must name a folder", "{folder} is not one", folder=folder)
    fastjoint = _find(folder, "FastTopk.py")
    dp_topk = _find(folder, "baseline_mechanisms.py")
    wanted = [*((fastjoint / name, found) for name, found in _AUTHORS_FILES.items())]
    wanted += [(dp_topk / name, found) for name, found in _GOOGLE_FILES.items()]
    for path, _ in wanted:
        if not path.is_file():
            raise _describe_missing_program(path.parent, path.name)
    hashes = {}
    for path, expected in wanted:
        hashes[path.name] = hash_program(path)[: len(expected)]
        if hashes[path.name] != expected:
            raise DataError(
                "{released} must hold the programs as released",
                "{path} has another content (hash {actual}, not {known})",
                hint="clone it again: {address}",
                path=path,
                actual=hashes[path.name],
                known=expected,
                address=_address(path.name),
            )
    return Programs(fastjoint=fastjoint, dp_topk=dp_topk, hashes=hashes)


def hash_program(path: Path) -> str:
    """Hash a Python file without its comment lines; line ends do not count either."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return "unreadable"
    kept = [line for line in lines if not line.lstrip().startswith("#")]
    return hashlib.sha256(("\n".join(kept) + "\n").encode()).hexdigest()


def _find(folder: Path, name: str) -> Path:
    for place in _list_folders(folder, _DEPTH):
        if (place / name).is_file():
            return place
    raise _describe_missing_program(folder, name)


def _describe_missing_program(folder: Path, name: str) -> DataError:
    return DataError(
        "{released} must name a folder with the released programs",
        "{folder} has no {name}",
        hint="clone {address} into it",
        folder=folder,
        name=name,
        address=_address(name),
    )


def _address(name: str) -> str:
    return AUTHORS if name in _AUTHORS_FILES else GOOGLE


def _list_folders(folder: Path, depth: int) -> Iterator[Path]:
    """The folder, then those below it, nearest first."""
    level = [folder]
    for _ in range(depth + 1):
        yield from level
        level = [each for place in level for each in _below(place)]


def _below(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [each for each in entries if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(Path(each.path) for each in found if each.name[0] != "." and each.name not in _PASSED_OVER)
