"""What holds for the whole source: which part imports which, where randomness enters, what errors may say."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from mutations import MUTATIONS, find_test, mutate

import shortlist
from shortlist.mechanisms import HOMES

ROOT = Path(shortlist.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "architecture.md"
PROOFS = [*sorted(ROOT.rglob("*.proof.md")), *sorted((TESTS.parent / "reproduction").glob("*.proof.md"))]

# A part imports only parts of earlier lines. docs/architecture.md says the same in words.
PARTS = [
    ("array_types", "errors", "safe_text", "version"),
    ("near_names",),
    ("exact",),
    ("atomic_files", "privacy", "testing"),
    ("periods", "profile"),
    ("mechanisms", "votes"),
    ("terms",),
    ("caption", "record"),
    ("registry",),
    ("release",),
    ("usefulness",),
    ("ledger",),
    ("selection",),
    ("audits", "bridges", "planning"),
    ("demo",),
    ("cli",),
    ("__main__",),
]


def part_of(module: Path) -> str:
    return module.relative_to(ROOT).with_suffix("").parts[0]


@cache
def parse(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


@cache
def imports(module: Path) -> set[str]:
    """Name what a module imports, but not what only its types need."""
    found, left = set(), list(ast.iter_child_nodes(parse(module)))
    while left:
        node = left.pop()
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        left += node.orelse if for_types else ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{name.name}" for name in node.names} | {str(node.module)}
    return found


EXISTING = {part_of(module) for module in MODULES} - {"__init__"}


def rank(name: str) -> int:
    return next(place for place, parts in enumerate(PARTS) if name in parts)


def test_a_part_imports_only_earlier_parts():
    """The order is that of `PARTS`, also for imports inside functions; parts of one line do not know each other."""
    for module in MODULES:
        if part_of(module) == "__init__":
            continue
        for name in imports(module):
            parts = name.split(".")
            if parts[0] == "shortlist" and len(parts) > 1 and parts[1] in EXISTING:
                assert parts[1] == part_of(module) or rank(parts[1]) < rank(part_of(module)), (module, name)


def test_the_architecture_page_states_the_same_order():
    """The page lists the parts line by line as `PARTS` does, and the picture shows every one of them."""
    listed = re.search(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert listed is not None
    lines = [tuple(line.split("#")[0].replace(",", " ").split()) for line in listed[1].splitlines()]
    assert lines == PARTS
    picture = PAGE.with_suffix(".svg").read_text(encoding="utf-8")
    assert EXISTING - {"__main__"} <= set(re.findall(r"[\w-]+", picture))
    assert {name for line in PARTS for name in line} >= EXISTING


def test_randomness_enters_through_one_door():
    """Only exact/bits.py imports a source of randomness."""
    sources = {"random", "secrets", "uuid", "os.urandom", "numpy.random"}
    for module in set(MODULES) - {ROOT / "exact" / "bits.py"}:
        assert not sources & imports(module), module
        text = module.read_text()
        assert "urandom" not in text, module
        assert "np.random" not in text, module


def test_importing_shortlist_stays_light():
    """Using `top_k` loads NumPy and python-flint, and no engine, no plots, no command line."""
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
    assert not load_for_a_list("top_k([5, 3], k=1, epsilon=1)") & heavy


def load_for_a_list(call):
    """Return the modules that a first list loads beyond NumPy and python-flint."""
    program = (
        "import sys, flint, numpy\n"
        "before = set(sys.modules)\n"
        "import shortlist\n"
        f"shortlist.{call}\n"
        "print(*set(sys.modules) - before)"
    )
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


UNNEEDED = {
    "exact.noise",
    "ledger.charging",
    "ledger.file",
    "record",
    "release",
    "votes.duckdb",
    "votes.tallies",
}


def test_a_list_loads_only_its_own_mechanism():
    """A list of `joint` from an array loads no other mechanism, no ledger, no release and no engine."""
    loaded = load_for_a_list("top_k(numpy.arange(300_000) % 5, k=1, epsilon=1, mechanism='joint')")
    mechanisms = {name.split(".")[2] for name in loaded if name.startswith("shortlist.mechanisms.")}
    assert not mechanisms & {"auto", "counts", "peel", "subset", "unknown_domain"}
    assert not loaded & {f"shortlist.{name}" for name in UNNEEDED}
    assert not loaded & {"difflib", "hashlib", "html", "json", "numpy.ma", "pathlib", "sqlite3"}


def test_a_list_of_auto_loads_only_its_candidates():
    """A list of `auto` loads `subset` and `noisy-counts` only if the call makes them candidates."""
    call = "top_k(numpy.arange(300) % 5, k=3, epsilon=1{})"
    homes = {name: f"shortlist.mechanisms.{home.rpartition('.')[0]}" for name, home in HOMES.items()}
    loaded = load_for_a_list(call.format(""))
    needed = {homes[name] for name in ("auto", "joint", "margin-joint", "pnf-peel")}
    assert set(homes.values()) & loaded == needed
    assert not {each for each in loaded if each.startswith(("shortlist.mechanisms.counts", "shortlist.mechanisms.sub"))}
    assert not loaded & {f"shortlist.{name}" for name in UNNEEDED}
    loaded = load_for_a_list(call.format(", ordered=False, votes_per_person=3, delta=1e-6"))
    assert {homes[name] for name in ("subset", "noisy-counts")} <= loaded


def test_the_front_door_is_sorted():
    """`__all__` is sorted, and everything in it exists."""
    assert sorted(shortlist.__all__) == list(shortlist.__all__)
    assert all(hasattr(shortlist, name) for name in shortlist.__all__)


def test_the_page_of_the_api_lists_every_public_name():
    """The first table of docs/api.md names what `__all__` names, each once."""
    table = re.search(r"\n\|---.*?\n\n", (PAGE.parent / "api.md").read_text(encoding="utf-8"), re.DOTALL)
    assert table is not None
    names = [name for row in table[0].splitlines() for name in re.findall(r"`(\w+)`", row.split(" | ")[0])]
    assert sorted(names) == sorted(shortlist.__all__)


def test_every_mechanism_has_its_proof_beside_it():
    """A mechanism names its claim, and its proof is in the same folder."""
    from shortlist.mechanisms import MECHANISMS

    for kind in MECHANISMS.values():
        source = Path(sys.modules[kind.__module__].__file__)
        assert source.with_name(f"{kind.name.replace('-', '_')}.proof.md").exists(), kind.name
        assert "Claim" in kind.__doc__


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_every_proof_names_tests_that_exist(proof):
    """Every file, class and function of tests that a proof names exists; a name with … at its start may be a part."""
    text = proof.read_text(encoding="utf-8")
    named = set(re.findall(r"\btest_\w+(?!\w*\.py)", text))
    assert named, "a proof names the tests that check it"
    assert named <= names_of_tests()
    assert set(re.findall(r"\bTest[A-Z]\w+", text)) <= names_of_tests()
    for part in re.findall(r"…(_\w+)", text):
        assert any(name.endswith(part) for name in names_of_tests()), part
    for path in re.findall(r"\btests/[\w/]+\.py\b", text):
        assert (TESTS.parent / path).is_file(), path


@cache
def names_of_tests() -> set[str]:
    """Collect the names of all functions and classes in tests, methods of contracts included."""
    texts = (path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py"))
    return {name for text in texts for name in re.findall(r"^\s*(?:def|class) (\w+)", text, re.MULTILINE)}


def test_mutations_apply():
    """Each place that `tests/support/mutations.py` changes is there, and the test that must notice exists."""
    for mutation in MUTATIONS:
        path, text = mutate(mutation)
        assert text != write_again(path), mutation
        assert find_test(mutation.test)


@cache
def write_again(path):
    """The text of a file as Python writes it. Most files have several places that are changed."""
    return ast.unparse(ast.parse((TESTS.parent / path).read_text(encoding="utf-8"))) + "\n"
