"""The README as an index of packages shows it, where links into the repository would lead nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def make_links_absolute(text: str, code: str, tag: str) -> str:
    """Lead relative links and pictures of Markdown to a version in the repository."""

    def replace(found: re.Match[str]) -> str:
        view = "raw" if found[1] else "blob"
        return f"{found[1]}[{found[2]}]({code}/{view}/{tag}/{found[3]})"

    return re.sub(r"(!?)\[([^]]*)\]\((?![a-z]+:|#)([^)\s]+)\)", replace, text)


class Readme(MetadataHookInterface):
    """State the README with absolute links, once `.ci/publish_at` has written the address of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the field `readme`."""
        root = Path(self.root)
        text = (root / "README.md").read_text(encoding="utf-8")
        version = re.search(r'__version__ = "(.*?)"', (root / "src/shortlist/version.py").read_text(encoding="utf-8"))
        if version is not None and "Source" in metadata["urls"]:
            text = make_links_absolute(text, metadata["urls"]["Source"], f"v{version[1]}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
