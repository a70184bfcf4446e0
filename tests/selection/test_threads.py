"""One prepared selector, many threads and many forked children: every draw is right, and no two draw alike."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from chi_square import p_value
from flint import arb

from shortlist import prepare
from shortlist.exact.balls import enclose_exp_minus, use_precision
from shortlist.mechanisms.stated import Histogram, collect_law
from shortlist.profile import Picks
from shortlist.votes.array_counts import ArrayTally
from shortlist.votes.duckdb import Workspace

HISTOGRAM: Histogram = (5, 3, 3, 0)
WORKERS, DRAWS = 8, 150
NAMES = ["auto", "joint", "pnf-joint", "subset"]


def check_law(mechanism, drawn):
    """The lists of all workers together follow the stated law; which mechanism auto chose is not seen."""
    with use_precision(96):
        law = Counter()
        for output, chance in collect_law(mechanism, HISTOGRAM).items():
            law[output.items] += float(chance.mid())
    seen = Counter(drawn)
    assert sum(seen.values()) == WORKERS * DRAWS == sum(seen[each] for each in law)
    assert p_value([seen[each] for each in law], list(law.values())) > 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_threads_draw_the_stated_law(name):
    """Eight threads draw from one selector at once."""
    selector = prepare(list(HISTOGRAM), k=2, epsilon=1, mechanism=name)
    start = threading.Barrier(WORKERS)

    def work(_):
        start.wait()
        return [tuple(selector.draw().tolist()) for _ in range(DRAWS)]

    with ThreadPoolExecutor(WORKERS) as pool:
        check_law(selector.mechanism, [each for part in pool.map(work, range(WORKERS)) for each in part])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_children_draw_the_stated_law_and_different_lists():
    """Eight children of one process draw from the selector that it prepared."""
    small = prepare(list(HISTOGRAM), k=2, epsilon=1, mechanism="pnf-joint")
    large = prepare(np.arange(500) % 7, k=40, epsilon=1, mechanism="joint")
    small.draw()

    def work():
        return [tuple(small.draw().tolist()) for _ in range(DRAWS)], [tuple(large.draw().tolist()) for _ in range(5)]

    parts = [read_child(work) for _ in range(WORKERS)]
    check_law(small.mechanism, [each for lists, _ in parts for each in lists])
    lists = [each for _, part in parts for each in part]
    assert len(set(lists)) == len(lists)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_while_a_thread_computes_does_not_wait_for_it():
    """The child has no such thread, so the lock of the precision is renewed in it."""
    holding, done = threading.Event(), threading.Event()

    def hold():
        with use_precision(500):
            holding.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait()
    try:
        chosen = read_child(lambda: prepare(list(HISTOGRAM), k=2, epsilon=1, mechanism="pnf-joint").draw().tolist())
    finally:
        done.set()
        thread.join()
    assert len(chosen) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_leaves_the_engine_of_its_parent_alone():
    """A child that frees its copy of an engine does not crash, and the folder of the parent stays."""
    workspace = Workspace()
    workspace.connection.execute("CREATE TABLE numbers AS FROM range(100000)")
    references = [workspace]

    def work():
        references.clear()
        return gc.collect() >= 0

    folder = workspace.folder
    del workspace
    assert read_child(work)
    assert folder.exists()
    assert references[0].connection.sql("SELECT count(*) FROM numbers").fetchall() == [(100000,)]


FORKING = """
import os, sys, shortlist

def fork(step):
    if step == "Drawing the items":
        child = os.fork()
        if child == 0:
            sys.exit()
        assert os.waitpid(child, 0)[1] == 0

votes = shortlist.Query(sys.argv[1], "SELECT n AS person, n % 2 AS item FROM generate_series(1, 300) AS votes (n)")
options = {"domain": [0, 1, 2], "k": 2, "epsilon": 1, "mechanism": "joint"}
print(sorted(shortlist.select(votes, person="person", item="item", progress=fork, **options)))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_that_ends_in_the_middle_leaves_the_release_of_its_parent_alone(postgres):
    """The child frees its copy of the connection, and the transaction of the parent goes on."""
    done = subprocess.run([sys.executable, "-c", FORKING, postgres], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[0, 1]\n", 0), done.stderr


def read_child(work):
    """Run a function in a forked child and return its result; a child that hangs is a failure."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            with os.fdopen(write, "wb") as file:
                pickle.dump(work(), file)
            os._exit(0)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        os.set_blocking(read, False)
        content, patience = b"", time.monotonic() + 60
        while time.monotonic() < patience and (part := file.read()) != b"":
            content += part or b""
            time.sleep(0.01)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert not ended, f"the child ended with {ended}: a signal if it is below 0"
    return pickle.loads(content)


def test_the_precision_is_that_of_the_thread_that_asked():
    """Threads with different precisions get balls of their own precision."""

    def work(bits):
        radii = []
        for _ in range(200):
            with use_precision(bits):
                radii.append(enclose_exp_minus(Fraction(1, 3)).rad())
        return max(radii) < arb(2) ** (2 - bits)

    with ThreadPoolExecutor(WORKERS) as pool:
        assert all(pool.map(work, [64, 128, 256, 512, 96, 192, 384, 768]))


def test_counts_in_memory_are_safe_under_threads():
    """Looking for deep and shallow items at once, each thread finds the items that it asked for."""
    counts = np.arange(30_000)
    tally = ArrayTally(counts)
    failures = []

    def work(level):
        for turn in range(100):
            found = tally.items(Picks(levels=np.array([level, level + 1]), ranks=np.array([0, 0])))
            if found.tolist() != [level, level + 1] or tally.above(1, turn).top(1).tolist() != [29_999]:
                failures.append(level)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, [29_990, 2900, 5, 25_000, 100, 20_000, 7, 15_000]))
    assert not failures
