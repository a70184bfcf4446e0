"""Chains of tables without a domain, each with one person more than the one before."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
from hostile import plan_count, read_value

from shortlist.errors import DataError
from shortlist.profile import EVERY_LEVEL, Picks
from shortlist.votes.source import read_request
from shortlist.votes.values import write_item


def check_chain(case, hold, workspace, *, first=1, exact=True):
    """Group every table of the chain, and compare neighbours."""
    columns = read_request(item="track", person="user", count=None, votes_per_person=case.cap)
    before = None
    for size in range(first, len(case.people) + 1):
        data = case.columns(size)
        after = outcome(workspace, hold(data), columns)
        if before is not None:
            compare(before, after, case.cap)
        if exact and isinstance(after, dict) and case.cap is None:
            assert after == expected(data), "the rule of grouping"
        before = after


def outcome(workspace, votes, columns):
    """The count of every item, or the text of the error."""
    try:
        counted = plan_count(workspace, votes, None, columns).count()
    except DataError as error:
        return str(error)
    if not counted.d:
        return {}
    profile = counted.above(1, EVERY_LEVEL)
    levels = np.repeat(profile.values, profile.sizes)
    ranks = np.concatenate([np.arange(size) for size in profile.sizes])
    rows = counted.rows(Picks(levels=levels, ranks=ranks))
    keys = [write_item(item) for item in counted.names(rows)]
    assert len(set(keys)) == len(keys), "an item is in two groups"
    falling = [(-level, key) for level, key in zip(levels.tolist(), keys, strict=True)]
    assert falling == sorted(falling), "ranks are in the order of the bytes"
    return dict(zip(keys, levels.tolist(), strict=True))


def compare(before, after, cap):
    """One person more: no item vanishes, every count grows by 0 or 1, and at most `cap` of them do."""
    if isinstance(before, str) or isinstance(after, str):
        assert before == after, "an error depends on one person"
        return
    assert before.keys() <= after.keys()
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
