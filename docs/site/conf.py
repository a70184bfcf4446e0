"""How `make docs` builds the site with Sphinx: the repository is its source, so links work in both places.

The navigation is that of docs/index.md: every heading of its second level is a part of the site, and the pages that it
links to are that part, in this order.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.version import __version__

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
project, author = "shortlist", "The shortlist developers"
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = [
    "benchmarks/results.md",
    "docs/**.md",
    "examples/*.ipynb",
    "reproduction/*.md",
    "src/**.proof.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "build", "docs/site"]
# Proofs are reached by links of other pages.
suppress_warnings = ["toc.not_included"]

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
nb_execution_mode = "off"
# Docstrings are plain text with names between single backticks.
default_role = "code"
smartquotes = False
highlight_language = "sh"
autodoc_member_order = "bysource"
# With types, the signature of `select` would be its eight overloads.
autodoc_typehints = "none"
# A field without a text of its own is described in the text of its class.
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = "shortlist"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = html_show_copyright = False
html_copy_source = False
html_extra_path = ["root"]
html_theme_options: dict[str, object] = {"sidebar_hide_name": False, "navigation_with_keys": True}
# Formulas are plain text, such as q^L(s) or h_(j): a base, and what is raised or lowered behind it.
NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
RAISED = rf"\^(?:{{([^}}]*)}}|\(({NESTED})\)|((?:min|max|[A-Zℓ]′?)\({NESTED}\)|[−-]?[^\W_]+′?[₀-₉]*|∞))"
BASE = r"(?<![A-Za-z_])([^\W\d_]′?|[∏∫]|max|min|loss|size)"
LOWERED = rf"{BASE}_(?:{{([^}}]*)}}|(\({NESTED}\)|[^\W_]′?|[∞⊥])(?![A-Za-z0-9_]))"
FORMULA = re.compile(f"{RAISED}|{LOWERED}")
WORD_JOINER = "\u2060"
# Classes that functions return: nobody calls them.
MADE = {"AuditReport", "Check", "GroupList", "Ledger", "Plan", "Prepared", "Release", "ReleaseFamily", "Selector"}
PROOFS = {path.name: path for path in (ROOT / "src").rglob("*.proof.md")}
# `.ci/publish_at` writes these addresses.
addresses = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
if "Source" in addresses:
    html_baseurl = addresses["Documentation"]
    html_theme_options |= {"source_repository": f"{addresses['Source']}/", "source_branch": "main"}


def add_navigation(app: Sphinx, page: str, text: list[str]) -> None:
    """Add to the first page a tree of contents for each part that it lists."""
    if page == root_doc:
        for part in re.split(r"^## ", text[0], flags=re.MULTILINE)[1:]:
            entries = [
                f"{title} <{path}>" for title, path in re.findall(r"^- \[([^]]+)\]\(([^)#]+)\)", part, re.MULTILINE)
            ]
            tree = ["```{toctree}", ":hidden:", f":caption: {part.splitlines()[0]}", "", *entries, "```"]
            text[0] += "\n".join(["", *tree, ""])


def trim_examples(app: Sphinx, page: str, text: list[str]) -> None:
    """Drop the empty line at the end of an example. A doctest needs it, a reader does not."""
    text[0] = re.sub(r"\n\n( *```)$", r"\n\1", text[0], flags=re.MULTILINE)


def mark_cells(app: Sphinx, tree: nodes.document) -> None:
    """Mark cells by their length: a phone must not squeeze a sentence to a word in each line, or break a number.

    Mark tables of many columns, too.
    """
    for table in tree.findall(lambda node: node.tagname == "tgroup"):
        if table["cols"] > 7:
            table.parent["classes"].append("wide")
    for cell in tree.findall(lambda node: node.tagname == "entry"):
        length = len(cell.astext())
        cell["classes"].append("number" if length <= 14 else "phrase" if length <= 40 else "prose")


def set_formulas(app: Sphinx, tree: nodes.document) -> None:
    """Raise and lower the parts of formulas, in all text but code."""
    from docutils import nodes

    if app.env.docname.endswith(".proof"):  # an indented line there is a formula of its own
        for block in list(tree.findall(nodes.literal_block)):
            block.replace_self(nodes.paragraph("", block.astext(), classes=["formula"]))
    code = (nodes.FixedTextElement, nodes.literal, nodes.raw)
    for text in list(tree.findall(nodes.Text)):
        parent = text.parent
        if not isinstance(parent, code) and FORMULA.search(text):
            parent.replace(text, list(split_formulas(text)))


def split_formulas(text: str) -> Iterator[nodes.Node]:
    """Make nodes of a text: what is raised, what is lowered, and what is neither."""
    from docutils import nodes

    end = 0
    for found in FORMULA.finditer(text):
        *raised, base, inner, outer = found.groups()
        # A line must not break between a base and what is raised or lowered behind it.
        yield nodes.Text(text[end : found.start()] + (base or "") + WORD_JOINER)
        kind, part = (nodes.subscript, inner or outer) if base else (nodes.superscript, next(filter(None, raised)))
        yield kind("", "", *split_formulas(part))
        end = found.end()
    yield nodes.Text(text[end:])


def choose_breaks(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Say where a browser may break a line: never after a hyphen of an option, and in tables after an underscore."""
    parts = (r'(?<=<div class="highlight"><pre>).*?(?=</pre>)', r'(?<=<span class="pre">).*?(?=</span>)')
    shell = "|".join([*parts, "(?<=</table><pre>).*?(?=</pre>)"])
    options = partial(re.sub, r"(?<![\w\-<])--?[a-z][\w\-]*", r'<span class="option">\g<0></span>')
    if "body" in context:
        body = re.sub(shell, lambda found: options(found[0]), context["body"], flags=re.DOTALL)
        names = partial(re.sub, r"(?<=[a-z])_(?=[a-z][^<>]*</span></code>)", "_<wbr>")
        context["body"] = re.sub(r"<td.*?</td>", lambda found: names(found[0]), body, flags=re.DOTALL)


def describe_commands(command: Any, path: str, parent: Any = None) -> Iterator[str]:
    """Write a command, or all commands of a group, as Markdown: the lines of its help, option by option."""
    context = command.context_class(command, info_name=path, parent=parent, **command.context_settings)
    if hasattr(command, "commands"):
        for name, each in command.commands.items():
            yield from describe_commands(each, name, context)
        return
    yield from (f"## {context.command_path}", "", mark_options(escape(inspect.cleandoc(command.help))), "")
    example = textwrap.dedent(command.epilog.partition("Example:\n")[2])
    yield from ("```sh", example, "```", "")
    for heading, options in command.list_options(context).items():
        if heading == "Options":  # only --help, which the page mentions once
            continue
        yield from (f"**{heading}**", "")
        for written, text in options:
            yield from (f"`{written}`", f": {mark_options(escape(text))}", "")


def lay_out_claims(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Make paragraphs of what a docstring lines up: Claim, Proof and Cost. Link the pages that it names."""
    lined = r"^(Claim|Proof|Cost)  +(.*(?:\n +\S.*)*)"
    text = re.sub(
        lined, lambda found: f"\n**{found[1]}.** {' '.join(found[2].split())}\n", "\n".join(lines), flags=re.MULTILINE
    )
    text = re.sub(r"\bdocs/([\w-]+)\.md", r":doc:`/docs/\1`", text)
    text = re.sub(r"(?<![\w/`])(\w+\.proof)\.md", link_proof, text)
    lines[:] = text.split("\n")


def link_proof(found: re.Match[str]) -> str:
    """Link a proof by the name of its file."""
    path = PROOFS[found[0]].relative_to(ROOT).with_suffix("")
    return f":doc:`{found[0]} </{path}>`"


def write_signature(
    app: Sphinx, what: str, name: str, value: Any, options: object, arguments: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Write the parameters of a mechanism as users pass them, and none for a class that only functions make."""
    from shortlist.mechanisms import Mechanism

    arguments = arguments and re.sub(r"=<(?:function .*?>|factory)>?(?=[,)])", "=...", arguments)
    if what != "class":
        return arguments, result
    if not issubclass(value, Mechanism) or value.__abstractmethods__:
        made = name.rpartition(".")[2] in MADE
        return ("" if made else arguments), result
    fields = [each for each in dataclasses.fields(value) if each.name not in ("epsilon", "at_least", "calibration")]
    required = [each.name for each in fields if each.default is dataclasses.MISSING]
    others = [f"{each.name}={write_default(each.default)}" for each in fields if each.name not in required]
    return f"(*, {', '.join([*required, 'epsilon', *others])})", result


def write_default(value: object) -> str:
    """Write a default as users would."""
    return repr(value.value if isinstance(value, Enum) else str(value) if isinstance(value, Fraction) else value)


def escape(text: str) -> str:
    """Keep Markdown from reading signs of a help, such as < and *. Backticks mark code in both."""
    return re.sub(r"([\\*_<\[\]])", r"\\\1", text)


def mark_options(text: str) -> str:
    """Write options such as --output as code, where they are not part of code already."""
    return re.sub(r"`[^`]*`|--[a-z][\w\-]*", lambda found: f"`{found[0].strip('`')}`", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what no extension has: the navigation, and the commands as the program describes them."""
    from sphinx.util.docutils import SphinxDirective
    from typer.main import get_command

    from shortlist.cli.app import app as program

    class Commands(SphinxDirective):
        """All commands of `shortlist`."""

        def run(self) -> list[nodes.Node]:
            lines = "\n".join(describe_commands(get_command(program), "shortlist"))
            return self.parse_text_to_nodes(lines, allow_section_headings=True)

    app.add_directive("commands", Commands)
    app.connect("source-read", add_navigation)
    app.connect("source-read", trim_examples)
    app.connect("autodoc-process-docstring", lay_out_claims)
    app.connect("autodoc-process-signature", write_signature)
    app.connect("doctree-read", mark_cells)
    app.connect("doctree-read", set_formulas)
    app.connect("html-page-context", choose_breaks)
    return {"parallel_read_safe": True}
