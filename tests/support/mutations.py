"""Break decisive expressions one at a time, and see that the tests notice.

A mutation names a function or a class of the source, a kind of change, and a test. The change is made to the syntax
tree of a copy of the source. The test must pass before the change and fail after it. Run `make mutations`, or this file
with parts of names to choose some. `mutations.py --places Joint.guarantee` shows what can be changed there.

Functions and tests are found by their names, wherever they are. A name that is missing or not unique is an error, and
so is a change that does not apply.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "src/shortlist"
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of one place in a function or a class, and the test that must notice.

    `target` is a name such as `Neighbours.sensitivity`. `change` is a kind of `CHANGES`, or `write NEW for OLD` for
    words of a text. If there are several places in the target, `at` says which, counted from 0. `test` is the name of
    a test, or of its class and itself. Where a name is not unique, a part of the path and a colon stand before it.
    """

    target: str
    change: str
    test: str
    at: int | None = None


MUTATIONS = (
    # Rates and sensitivities.
    Mutation("Mechanism.rate", "halve", "TestJoint::test_no_neighbour_is_told_apart[add-remove]"),
    Mutation("Neighbours.sensitivity", "halve", "TestJoint::test_no_neighbour_is_told_apart[replace]"),
    Mutation("PNFPeel.round_rate", "drop right", "TestPNFPeel::test_no_neighbour_is_told_apart[replace]", at=1),
    Mutation("CDPPeel.round_rate", "drop right", "TestCDPPeel::test_no_neighbour_is_told_apart[replace]"),
    Mutation("PrivateChoice.__init__", "halve", "TestAutoThatSpendsHalfOnTheChoice::test_no_neighbour_is_told_apart"),
    Mutation("choose_noise", "drop left", "TestPureNoisyCounts::test_no_neighbour_is_told_apart[replace]", at=0),
    Mutation("choose_noise", "quadruple", "test_gaussian_lists_and_counts_are_within_rho[add-remove]", at=1),
    Mutation("NoisyCounts.moved", "drop right", "TestPureNoisyCounts::test_no_neighbour_is_told_apart[replace]"),
    Mutation("ListCounts.moved", "drop right", "test_no_neighbour_of_a_released_list_is_told_apart", at=1),
    Mutation("PrivateCap.rate", "halve", "test_a_hostile_person_moves_a_miss_by_the_sensitivity_at_most[replace]"),
    Mutation("find_weakest", "swap", "test_the_charge_is_the_largest_over_all_caps[add-remove-given0]", at=2),
    # Families of lists.
    Mutation("Mechanism.list_epsilon", "drop right", "test_a_list_of_a_family_is_that_of_a_single_list"),
    Mutation("Mechanism.rate", "drop right", "test_a_list_of_a_family_is_that_of_a_single_list", at=1),
    Mutation("Mechanism.lists_changed", "drop right", "test_half_of_delta_is_needed_even_for_one_group"),
    Mutation("Mechanism.rounds", "drop left", "test_rounds_of_a_family_are_calibrated_together"),
    Mutation("LimitedDomain._stop_weight", "drop left", "test_labels_of_all_groups_are_few", at=1),
    Mutation("PrivateChoice.__init__", "drop right", "test_the_choice_for_a_family_has_the_stated_chances", at=2),
    Mutation("MeanScore.enclose", "drop right", "test_the_choice_for_a_family_has_the_stated_chances"),
    Mutation(
        "PrivateChoice.enclose_chances", "drop right", "test_the_choice_for_a_family_has_the_stated_chances", at=3
    ),
    Mutation("_build_candidates", "reverse", "test_a_peel_with_more_noise_than_noisy_counts_is_left_out", at=1),
    Mutation("ListCounts.lists", "drop right", "test_counts_of_a_family_move_at_most_so_many", at=0),
    Mutation("Assess.noise", "drop left", "test_assessments_of_a_family_share_epsilon", at=1),
    Mutation("_limit_groups", "swap", "test_the_limit_is_the_smallest_of_all"),
    Mutation("_limit_groups", "never", "test_refuses_what_makes_no_sense", at=2),
    Mutation("_check_sizes", "swap", "test_a_catalogue_may_name_the_groups"),
    # What a guarantee states.
    Mutation("CDPPeel.guarantee", "double", "TestCDPPeel::test_no_neighbour_is_told_apart[replace]", at=1),
    Mutation("Joint.guarantee", "double", "TestJoint::test_no_neighbour_is_told_apart[add-remove]", at=1),
    Mutation("Guarantee.scale", "drop right", "test_sensitivity_scales_the_guarantee", at=1),
    Mutation("compose", "drop right", "test_mixed_composition_holds_for_randomised_response", at=0),
    Mutation("find_largest_epsilon", "reverse", "test_a_mechanism_with_rho_is_described_by_its_parameters", at=3),
    Mutation("Score.enclose", "drop right", "test_scores_are_those_of_enumeration", at=0),
    Mutation("PeelLevels.bound_spreads", "swap", "test_floats_enclose_what_balls_enclose", at=0),
    Mutation("_enclose_saving", "change sign", "test_conversion_is_safe_and_near_the_best", at=3),
    Mutation("Terms.__post_init__", "drop last", "test_the_guarantee_is_the_sum", at=1),
    # The budget of a ledger.
    Mutation("add_up", "skip", "test_the_worst_releases_use_a_pure_budget_up[1-True]", at=0),
    Mutation("add_up", "skip", "test_the_worst_releases_use_delta_up[1-True]", at=1),
    Mutation("add_up", "skip", "test_rhos_of_adaptive_releases_add_up", at=2),
    Mutation("add_up", "skip", "test_leaks_are_counted_beside_rhos[1-True]", at=3),
    Mutation("Budget.list_left", "drop right", "test_the_worst_releases_use_a_pure_budget_up[1-True]", at=0),
    Mutation(
        "Ledger._read_budgets",
        "swap branches",
        "test_the_worst_releases_use_a_period_and_the_total_up[0-1-True]",
        at=0,
    ),
    Mutation("Ledger._read_budgets", "drop last", "test_the_worst_releases_use_a_period_and_the_total_up[0-1-True]"),
    Mutation("Ledger._charge", "never", "test_all_requests_name_one_column_of_times[file]", at=3),
    Mutation("refuse_other_times", "write = for <>", "test_all_columns_of_times_are_of_one_kind[file]", at=0),
    Mutation("Calendar.find", "move border", "test_the_zone_of_the_ledger_says_when_a_period_ends", at=4),
    # The laws of the mechanisms.
    Mutation(
        "Lists.number", "drop right", "TestJoint::test_law_is_the_stated_one_on_every_small_histogram[add-remove]"
    ),
    Mutation("Lists.count_blocks", "change sign", "TestJoint::test_sampling_follows_the_law_and_no_other", at=2),
    Mutation("BlockMixture._tabulate", "change sign", "test_subset:test_borders_are_within_their_bound", at=0),
    Mutation(
        "MarginDraws.enclose_chance", "drop left", "TestMarginJoint::test_sampling_follows_the_law_and_no_other", at=4
    ),
    Mutation(
        "Profile.find_gaps", "change sign", "TestSubsetOfSeveralSizes::test_sampling_follows_the_law_and_no_other", at=6
    ),
    Mutation("PeelRun.take", "change sign", "TestCDPPeel::test_sampling_follows_the_law_and_no_other", at=0),
    Mutation("NoisyDraws._draw_rows", "move border", "test_any_threshold_gives_the_law", at=1),
    Mutation("place_stop", "drop left", "test_the_stop_weighs_what_the_proof_needs[add-remove]", at=3),
    Mutation(
        "cut_candidates", "drop right", "TestLimitedDomain::test_the_run_implies_the_stated_law[1-add-remove]", at=1
    ),
    Mutation("find_threshold", "one less", "TestLaplaceThreshold::test_no_neighbour_is_told_apart[1-add-remove]", at=4),
    Mutation(
        "ItemsAboveThreshold.draw_many",
        "move border",
        "TestLaplaceThreshold::test_sampling_follows_the_law_and_no_other",
        at=1,
    ),
    Mutation("Stable.threshold", "drop right", "test_a_threshold_of_one_less_is_seen[1-add-remove]", at=1),
    Mutation("privacy_loss.py:_compare_with", "reverse", "test_a_law_that_exceeds_delta_is_caught", at=1),
    # Draws by random bits.
    Mutation("draw_below", "move border", "test_below_is_uniform"),
    Mutation("DiscreteLaplace.draw", "change sign", "test_noise_follows_its_law_and_no_other"),
    Mutation("draw_geometric", "change sign", "test_inversion_by_floats_is_never_wrong", at=8),
    Mutation("choose_by_loss", "drop right", "test_a_loss_is_chosen_by_its_weight"),
    Mutation("draw_below_each", "drop right", "test_the_incomplete_last_cycle_is_rejected", at=0),
    Mutation("draw_distinct_below", "drop right", "test_distinct_below_is_uniform_over_all_that_fit", at=0),
    Mutation("draw_distinct_below", "drop right", "test_distinct_below_is_uniform_over_all_that_fit", at=1),
    Mutation("Table.locate_each", "change sign", "test_a_table_of_weights_that_are_off_never_names_another_cell", at=7),
    Mutation("Table.locate_each", "change sign", "test_a_table_of_weights_that_are_off_never_names_another_cell", at=6),
    Mutation("accept_by_floats", "change sign", "test_floats_decide_what_balls_decide", at=25),
    Mutation("accept_by_floats", "change sign", "test_floats_decide_what_balls_decide", at=27),
    Mutation("accept_by_floats", "drop left", "test_proposals_that_are_accepted_have_the_law_of_the_heads", at=15),
    Mutation("BlockCell.split", "swap branches", "test_joint:test_borders_are_within_their_bound[wide-zipf]"),
    Mutation("accept_by_balls", "change sign", "test_floats_decide_what_balls_decide", at=3),
    # Counts, levels and items.
    Mutation("Profile.find_levels", "swap", "TestJoint::test_sampling_follows_the_law_and_no_other"),
    Mutation("ArrayTally.above", "drop right", "test_shows_the_levels_it_is_asked_for", at=1),
    Mutation("_find_counts", "move border", "test_shows_the_levels_it_is_asked_for", at=0),
    Mutation("ArrayTally.__init__", "never", "test_a_negative_count_of_any_type_is_refused"),
    Mutation("_Sorted.items", "change sign", "test_shows_the_levels_it_is_asked_for"),
    Mutation("_Tallied._search", "swap", "test_shows_the_levels_it_is_asked_for"),
    Mutation("_count_levels", "drop right", "test_shows_the_levels_it_is_asked_for", at=2),
    # Votes of persons.
    Mutation("_split_records", "reverse", "test_a_bad_line_of_csv_changes_no_other_line", at=0),
    Mutation("_CsvFiles._repair", "move border", "test_a_bad_line_of_csv_changes_no_other_line", at=2),
    Mutation("Dialect.write_counting", "write count( for count(DISTINCT ", "test_counts_each_person_once[parquet]"),
    Mutation(
        "Dialect._write_first", "write turn < for turn <=", "test_a_cap_keeps_so_many_votes_of_each_person[parquet]"
    ),
    Mutation("Request.limits", "reverse", "test_one_person_is_in_so_many_groups_and_cells", at=0),
    Mutation(
        "Dialect.write_unvoted",
        "write gaps - voted_before < for gaps - voted_before <=",
        "test_every_engine_counts_the_same_cells[pyarrow-domain]",
    ),
    Mutation("Dialect.write_text", "swap branches", "test_every_engine_keeps_the_same_votes[pyarrow-float]"),
    Mutation("Dialect.write_counting", "write count( for count(DISTINCT ", "test_counts_each_person_once[postgres]"),
    Mutation(
        "Dialect.write_finding",
        "write item DESC) for item)",
        "test_ties_are_in_the_order_of_bytes[pyarrow]",
    ),
)


def main(words: list[str]) -> int:
    """Try the mutations whose target has one of the words, or all of them; return how many were not noticed."""
    chosen = [each for each in MUTATIONS if not words or any(word in each.target for word in words)]
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copies = SimpleQueue[Path]()
        for number in range(AT_ONCE):
            copies.put(copy_tree(Path(folder) / str(number)))
        before = run_tests(copies, sorted({find_test(each.test) for each in chosen}))
        if before.returncode:
            sys.exit(f"These tests must pass before anything is broken:\n{before.stdout}")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            noticed = sum(pool.map(lambda each: try_mutation(copies, each), chosen))
    print(f"{noticed} of {len(chosen)} mutations were noticed.")
    return len(chosen) - noticed


def copy_tree(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in ("src", "tests", "docs", "reproduction"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def try_mutation(copies: SimpleQueue[Path], mutation: Mutation) -> bool:
    """Apply a mutation to a copy, run its test, undo it, and say whether the test failed."""
    started, changed = time.monotonic(), mutate(mutation)
    done = run_tests(copies, [find_test(mutation.test)], changed)
    # pytest ends with 1 if tests ran and some failed.
    verdict = {0: "SURVIVED", 1: "caught"}.get(done.returncode, f"NOT RUN (pytest ended with {done.returncode})")
    place = "" if mutation.at is None else f" {mutation.at}"
    seconds = f"{time.monotonic() - started:.0f} s"
    what = f"{mutation.target}: {mutation.change}{place}"
    print(f"{verdict:8} {what}\n         by {mutation.test} ({seconds})", flush=True)
    return done.returncode == 1


def run_tests(
    copies: SimpleQueue[Path], tests: list[str], changed: tuple[Path, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run tests of a copy with one file changed, until a test fails."""
    copy = copies.get()
    if changed is not None:
        (copy / changed[0]).write_text(changed[1], encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (copy / "src", copy / "tests" / "support", copy))),
        "PYTHONPYCACHEPREFIX": str(copy / "compiled"),  # a changed file is compiled again, because its time differs
        "PYTHONDONTWRITEBYTECODE": "",
    }
    try:
        return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    finally:
        if changed is not None:
            shutil.copy(ROOT / changed[0], copy / changed[0])
        copies.put(copy)


def mutate(mutation: Mutation) -> tuple[Path, str]:
    """Return the path of the file of a target below the root, and its text after the change."""
    path, module, target = find_target(mutation.target)
    places = find_places(target, mutation.change)
    if not places or (mutation.at is None and len(places) > 1) or (mutation.at or 0) >= len(places):
        raise ValueError(f"{mutation.target} has {len(places)} places for {mutation.change!r}, not {mutation.at}")
    old, new = places[mutation.at or 0]

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    return path, ast.unparse(ast.fix_missing_locations(Replace().visit(module))) + "\n"


def show_places(name: str) -> None:
    """Print every change that a target has a place for, with what stands there and what it becomes."""
    _, _, target = find_target(name)
    for change in CHANGES:
        for at, (old, new) in enumerate(find_places(target, change)):
            print(f"{change} {at}: {ast.unparse(old)}  →  {ast.unparse(new)}")


def find_target(name: str) -> tuple[Path, ast.Module, ast.AST]:
    """Find a function or a class: the path of its file below the root, the tree of the file, and its node there."""
    part, _, names = name.rpartition(":")
    found = []
    for path, text in read_files(SOURCE, "*.py").items():
        if part in str(path) and re.search(rf"(def|class) {names.partition('.')[0]}\b", text):
            module, below = ast.parse(text), path.relative_to(ROOT)
            found += [(below, module, node) for node in find_definitions(module.body, names.split("."))]
    if len(found) != 1:
        raise ValueError(f"{name} must be one function or class of the source, not {[str(path) for path, *_ in found]}")
    return found[0]


def find_definitions(body: list[ast.stmt], names: list[str]) -> Iterator[ast.AST]:
    """Find the definitions with a name, or those inside of them with the names that follow."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == names[0]:
            if len(names) == 1:
                yield node
            else:
                yield from find_definitions(node.body, names[1:])


def find_places(target: ast.AST, change: str) -> list[tuple[ast.AST, ast.AST]]:
    """Find the expressions and statements of a target that a change applies to, each with what it becomes."""
    if change.startswith("write "):
        new, _, old = change.removeprefix("write ").partition(" for ")
        texts = (node for node in list_code(target) if isinstance(node, ast.Constant) and isinstance(node.value, str))
        return [(node, ast.Constant(node.value.replace(old, new))) for node in texts if old in node.value]
    changed = ((node, CHANGES[change](node)) for node in list_code(target))
    return [(node, new) for node, new in changed if new is not None]


def list_code(target: ast.AST) -> list[ast.AST]:
    """List the nodes of a target in the order of the text, without docstrings, decorators and types."""
    found, left = [], [target]
    while left:
        node = left.pop()
        found.append(node)
        unused = {id(getattr(node, name, None)) for name in ("annotation", "returns", "args")}
        unused |= {id(each) for each in getattr(node, "decorator_list", ())} if target is not node else set()
        if isinstance(node, ast.Call):
            unused.discard(id(node.args))
        children = [child for child in ast.iter_child_nodes(node) if id(child) not in unused]
        left += [child for child in children if not is_docstring(child)]
    return sorted(found[1:], key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


BORDERS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
REVERSED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
PAIRS = {"min": "max", "minimum": "maximum", "floor": "ceil", "lower": "upper", "left": "right", "any": "all"}
OTHERS = PAIRS | {other: one for one, other in PAIRS.items()}


def move_border(node: ast.AST) -> ast.AST | None:
    """< for ≤, ≥ for >, = for ≠, in the first comparison of a chain."""
    if not isinstance(node, ast.Compare) or type(node.ops[0]) not in BORDERS:
        return None
    return ast.Compare(node.left, [BORDERS[type(node.ops[0])](), *node.ops[1:]], node.comparators)


def reverse(node: ast.AST) -> ast.AST | None:
    """< for >, in the first comparison of a chain."""
    if not isinstance(node, ast.Compare) or type(node.ops[0]) not in REVERSED:
        return None
    return ast.Compare(node.left, [REVERSED[type(node.ops[0])](), *node.ops[1:]], node.comparators)


def change_sign(node: ast.AST) -> ast.AST | None:
    """+ for −, × for /."""
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        return ast.BinOp(node.left, SIGNS[type(node.op)](), node.right)
    if isinstance(node, ast.AugAssign) and type(node.op) in SIGNS:
        return ast.AugAssign(node.target, SIGNS[type(node.op)](), node.value)
    return None


def scale(factor: int) -> Callable[[ast.AST], ast.AST | None]:
    """Multiply a number other than 0."""

    def change(node: ast.AST) -> ast.AST | None:
        return ast.Constant(node.value * factor) if is_number(node) and node.value else None

    return change


def halve(node: ast.AST) -> ast.AST | None:
    """Halve an even number other than 0."""
    return ast.Constant(node.value // 2) if is_number(node) and node.value and node.value % 2 == 0 else None


def add(step: int) -> Callable[[ast.AST], ast.AST | None]:
    """Add to a number."""

    def change(node: ast.AST) -> ast.AST | None:
        return ast.Constant(node.value + step) if is_number(node) else None

    return change


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def drop_right(node: ast.AST) -> ast.AST | None:
    """The first of two terms or factors."""
    return node.left if isinstance(node, ast.BinOp) else None


def drop_left(node: ast.AST) -> ast.AST | None:
    """The second of two terms or factors."""
    return node.right if isinstance(node, ast.BinOp) else None


def swap(node: ast.AST) -> ast.AST | None:
    """The greatest for the smallest, left for right, and the like, in a call or as a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in OTHERS:
        return ast.Constant(OTHERS[node.value])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OTHERS:
        return ast.Call(ast.Name(OTHERS[node.func.id], ast.Load()), node.args, node.keywords)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OTHERS:
        other = ast.Attribute(node.func.value, OTHERS[node.func.attr], ast.Load())
        return ast.Call(other, node.args, node.keywords)
    return None


def skip(node: ast.AST) -> ast.AST | None:
    """Nothing, for a statement that changes a value in place or calls something."""
    return ast.Pass() if isinstance(node, ast.AugAssign | ast.Expr) else None


def never(node: ast.AST) -> ast.AST | None:
    """A condition of a statement that never holds."""
    return ast.If(ast.Constant(False), node.body, node.orelse) if isinstance(node, ast.If) else None


def swap_branches(node: ast.AST) -> ast.AST | None:
    """The other value of a condition."""
    return ast.IfExp(node.test, node.orelse, node.body) if isinstance(node, ast.IfExp) else None


def drop_last(node: ast.AST) -> ast.AST | None:
    """A tuple or list without its last element."""
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1 and isinstance(node.ctx, ast.Load):
        return type(node)(node.elts[:-1], node.ctx)
    return None


CHANGES: dict[str, Callable[[ast.AST], ast.AST | None]] = {
    "move border": move_border,
    "reverse": reverse,
    "change sign": change_sign,
    "double": scale(2),
    "quadruple": scale(4),
    "halve": halve,
    "one more": add(1),
    "one less": add(-1),
    "drop left": drop_left,
    "drop right": drop_right,
    "drop last": drop_last,
    "swap": swap,
    "swap branches": swap_branches,
    "skip": skip,
    "never": never,
}


def find_test(name: str) -> str:
    """Find the address of a test by its name."""
    part, names = re.fullmatch(r"(?:(\w+):(?!:))?(.+)", name).groups()
    first = re.match(r"\w+", names)[0]
    defined = re.compile(rf"^(def|class) {first}\b", re.MULTILINE)
    paths = [
        path
        for path, text in read_files("tests", "test_*.py").items()
        if (part or "") in str(path) and defined.search(text)
    ]
    if len(paths) != 1:
        raise ValueError(f"{name} must be in one file of tests, not in {[path.name for path in paths]}")
    return f"{paths[0].relative_to(ROOT)}::{names}"


@cache
def read_files(folder: str, names: str) -> dict[Path, str]:
    """Read the files of a folder."""
    return {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob(names))}


if __name__ == "__main__":
    if "--places" in sys.argv:
        show_places(sys.argv[-1])
    else:
        sys.exit(bool(main(sys.argv[1:])))
