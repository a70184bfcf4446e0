"""Hostile votes without a domain: one person more may bring items, each with one vote, and adds 0 or 1 to all others.

Which types items have, what an error says and how items are ordered must be the same without this person.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pyarrow as pa
from hostile import count_spark_chain, plan_count, read_value, retype_persons

from shortlist.errors import DataError
from shortlist.profile import EVERY_LEVEL, Picks
from shortlist.votes.source import read_request
from shortlist.votes.values import write_item


def check_cube(case, hold, workspace, *, free=4, exact=True, texts=False):
    """Group the table with each subset of the last `free` people, and compare all neighbours; return their number."""
    columns = read_request(item="track", person="user", count=None, votes_per_person=case.cap)
    always, sometimes = case.people[:-free], case.people[-free:]
    found, pairs = {}, 0
    for chosen in itertools.product([False, True], repeat=free):
        data = case.columns_of(always + list(itertools.compress(sometimes, chosen)))
        found[chosen] = outcome(workspace, hold(data), columns)
        if exact and isinstance(found[chosen], dict) and case.cap is None:
            assert found[chosen] == expected(data), "the rule of grouping"
        for place in itertools.compress(range(free), chosen):
            compare(found[(*chosen[:place], False, *chosen[place + 1 :])], found[chosen], case.cap)
            pairs += 1
    if case.named == "whole" and case.kind is not None:
        for other in retype_persons(data, whole=texts):
            assert outcome(workspace, hold(other), columns) == found[chosen], "a type of persons moves votes"
    return pairs


def check_spark_chain(case, session, workspace):
    """Group every table of the chain in one job of Spark; the number of pairs is returned."""
    columns = read_request(item="track", person="user", count=None, votes_per_person=case.cap)
    tables = [
        {write_item(row["item"]): row["votes"] for row in rows}
        for rows in count_spark_chain(case, session, lambda votes: plan_count(workspace, votes, None, columns))
    ]
    for before, after in itertools.pairwise(tables):
        compare(before, after, case.cap)
    for size, found in enumerate(tables, 1):
        if case.cap is None:
            assert found == expected(case.columns(size)), "the rule of grouping"
    return len(case.people) - 1


def outcome(workspace, votes, columns):
    """The count of every item, in the order of their ranks, or the text of the error."""
    try:
        counted = plan_count(workspace, votes, None, columns).count()
    except DataError as error:
        return str(error)
    if not counted[0].d:
        return {}
    profile = counted[0].above(1, EVERY_LEVEL)
    levels = np.repeat(profile.values, profile.sizes)
    ranks = np.concatenate([np.arange(size) for size in profile.sizes])
    rows = counted.rows([Picks(levels=levels, ranks=ranks)])
    # What is written tells the type of an item, as well.
    keys = [write_item(item) for item in counted.names(rows)[0]]
    assert len(set(keys)) == len(keys), "an item is in two groups"
    falling = [(-level, key) for level, key in zip(levels.tolist(), keys, strict=True)]
    assert falling == sorted(falling), "ranks are in the order of the bytes"
    return dict(zip(keys, levels.tolist(), strict=True))


def compare(before, after, cap):
    """One person more: no item vanishes, every count grows by 0 or 1, and at most `cap` of them do."""
    if isinstance(before, str) or isinstance(after, str):
        assert before == after, "an error depends on one person"
        return
    assert before.keys() <= after.keys(), "an item vanishes, or has another type"
    growth = [votes - before.get(item, 0) for item, votes in after.items()]
    assert set(growth) <= {0, 1}
    assert cap is None or sum(growth) <= cap


def expected(data):
    """The counts by the rule of grouping, value by value."""
    users, items = data["user"], data["track"]
    if isinstance(users, pa.Array):
        users = (users.cast(pa.int64()) if pa.types.is_temporal(users.type) else users).to_pylist()
        items = [read_value(each) for each in items]
    persons = defaultdict(set)
    for user, item in zip(users, items, strict=True):
        persons[write_item(item)].add(user)
    persons.pop(None, None)
    return {item: len(found) for item, found in persons.items()}
