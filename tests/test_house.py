"""The rules of the house that a machine can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shortlist
from shortlist import errors
from shortlist.errors import ShortlistError

ROOT = Path(shortlist.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# The order of the rooms: a room may import the rooms above it and none below.
ROOMS = [
    {"arrays", "errors", "near_names", "text", "version"},
    {"exact", "writing"},
    {"privacy"},
    {"accuracy", "profile"},
    {"votes", "mechanisms"},
    {"consistency", "record"},
    {"columns"},
    {"release"},
    {"selection", "selector"},
    {"demo", "paper"},
    {"cli"},
    {"__main__"},
]

# Files and folders whose errors may still hold data in their templates. To be emptied.
UNCONVERTED = ("exact/bits.py", "paper/", "selection.py", "votes/")


def room(module: Path) -> str:
    return module.relative_to(ROOT).with_suffix("").parts[0]


def imports(module: Path) -> set[str]:
    tree = ast.parse(module.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{name.name}" for name in node.names} | {str(node.module)}
    return found


def rank(name: str) -> int:
    return next(place for place, rooms in enumerate(ROOMS) if name in rooms)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_nothing_imports_rightwards(module):
    """Traffic runs one way: errors ← exact ← privacy ← profile ← votes, mechanisms ← record ← release ← cli."""
    if room(module) == "__init__":
        return
    for name in imports(module):
        parts = name.split(".")
        if parts[0] == "shortlist" and len(parts) > 1 and any(parts[1] == room(other) for other in MODULES):
            assert parts[1] == room(module) or rank(parts[1]) < rank(room(module)), name


def test_votes_know_no_mechanism_and_mechanisms_no_engine():
    """The two meet only where a release is made."""
    for module in MODULES:
        if room(module) == "votes":
            assert not any(name.startswith("shortlist.mechanisms") for name in imports(module))
        if room(module) == "mechanisms":
            assert not any(name.startswith("shortlist.votes") for name in imports(module))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_randomness_enters_through_one_door(module):
    """Only exact/bits.py imports a source of randomness; experiments may seed NumPy generators."""
    if module == ROOT / "exact" / "bits.py":
        return
    sources = {"random", "secrets", "uuid", "os.urandom", "numpy.random"}
    assert not sources & imports(module)
    text = module.read_text()
    assert "urandom" not in text
    if room(module) != "paper":
        assert "np.random" not in text


def test_the_glossary_gives_each_word_one_meaning():
    """A word stands in one row of the glossary."""
    glossary = Path(__file__).parents[1] / "docs" / "glossary.md"
    words = re.findall(r"\*\*(.+?)\*\*", glossary.read_text(encoding="utf-8"))
    assert len(words) > 40
    assert len(words) == len(set(words))


def test_importing_shortlist_stays_light():
    """Using `top_k` loads NumPy and python-flint, and no engine, no plots, no command line."""
    program = "import sys, shortlist; shortlist.top_k([5, 3], k=1, epsilon=1); print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )
    heavy = {
        "duckdb",
        "ibis",
        "matplotlib",
        "narwhals",
        "pandas",
        "polars",
        "pyarrow",
        "pyspark",
        "rich",
        "scipy",
        "typer",
    }
    assert not loaded & heavy


def test_the_front_door_is_sorted():
    """`__all__` is sorted, and everything in it exists."""
    assert sorted(shortlist.__all__) == list(shortlist.__all__)
    assert all(hasattr(shortlist, name) for name in shortlist.__all__)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_a_file_is_one_thought(module):
    """No file is longer than 300 lines."""
    assert len(module.read_text().splitlines()) <= 300


ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ShortlistError)}


def is_template(node: ast.expr | None, constants: dict[str, list[ast.expr]]) -> bool:
    """Whether an expression is a template without data: a text, or parts that only name placeholders.

    An f-string is one if every value in it stands between braces, as in f"{{{name}}} must be above 0". A name is one
    if all that is assigned to it are templates.
    """
    match node:
        case None | ast.Constant(value=str() | None):
            return True
        case ast.Name(id=name):
            return name in constants and all(is_template(value, constants) for value in constants[name])
        case ast.IfExp(body=body, orelse=other):
            return is_template(body, constants) and is_template(other, constants)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_template(left, constants) and is_template(right, constants)
        case ast.JoinedStr(values=parts):
            # Values in braces are names of placeholders. Outside of braces there must be none.
            shape = "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in parts)
            return "\0" not in re.sub(r"\{\0(=[^{}]*)?\}", "", shape)
    return False


def templates(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "hint")]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_errors_hold_no_data_in_their_templates(module):
    """Python and the command line render errors, so data enters by name, and parameters as placeholders."""
    tree = ast.parse(module.read_text())
    constants: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants.setdefault(node.targets[0].id, []).append(node.value)
    wrong = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ERRORS - {"MissingExtraError"}
        if not all(is_template(part, constants) for part in templates(node))
    ]
    assert not wrong or module.relative_to(ROOT).as_posix().startswith(UNCONVERTED), wrong


@pytest.mark.parametrize(
    ("call", "right"),
    [
        ('DataError("{k} must be 1", "not {value}", hint="try {k=1}", value=3)', True),
        ('DataError(f"{{{name}}} must be 1", hint=f"try {{{name}=1}}")', True),
        ('DataError(_EXPECTED, "some are missing" if x else None)', True),
        ('DataError(f"k must be 1, not {k}")', False),
        ('DataError(f"{{k}} must be {k}}}")', False),
        ('DataError("k must be 1, not " + value)', False),
        ('DataError("k must be %s" % k)', False),
        ('DataError(text, hint="try {k=1}")', False),
        ('DataError("{k} must be 1", hint=f"try {k}")', False),
    ],
)
def test_data_in_templates_is_found(call, right):
    """The rule above accepts placeholders and finds data."""
    node = ast.parse(call, mode="eval").body
    constants = {"_EXPECTED": [ast.Constant("{counts} must be whole")]}
    assert all(is_template(part, constants) for part in templates(node)) == right


def test_every_mechanism_has_its_proof_beside_it():
    """A mechanism, its claim and its proof are neighbours, and the proof names tests that exist."""
    from shortlist.mechanisms import MECHANISMS

    for kind in MECHANISMS.values():
        source = Path(sys.modules[kind.__module__].__file__)
        proof = source.with_name(f"{source.stem}.proof.md")
        assert proof.exists(), proof.name
        assert "Claim" in kind.__doc__
        assert "test_" in proof.read_text()
