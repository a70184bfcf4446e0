"""Engines that are wrong in one way each, in the place of a right one: the check of tables fails them."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest

from shortlist.audits import tables
from shortlist.audits.cases import Result
from shortlist.errors import DataError
from shortlist.votes import tallies
from shortlist.votes.domain import number_items
from shortlist.votes.duckdb import ArrowSource

pytestmark = pytest.mark.slow


class Rewritten(ArrowSource):
    """An engine that counts another table than the one that it was given."""

    def __init__(self, workspace, given, name):
        super().__init__(workspace, self.rewrite(given), name)

    def rewrite(self, votes):
        raise NotImplementedError


class EveryRowIsAPerson(Rewritten):
    """A person counts as often as their rows repeat an item."""

    def rewrite(self, votes):
        return votes.set_column(0, "user", pa.array(range(len(votes)), pa.int64()))


class NoRareItems(Rewritten):
    """Items in a single row are left out, so that the next person adds two votes."""

    def rewrite(self, votes):
        rows = Counter(votes["track"].to_pylist())
        return votes.filter(pa.array([rows[item] > 1 for item in votes["track"].to_pylist()], pa.bool_()))


class RefusesGaps(Rewritten):
    """A row without an item is an error, so that one person decides whether there is a release."""

    def rewrite(self, votes):
        if votes["track"].null_count:
            raise DataError("the votes must have no gaps")
        return votes


class NoCap(ArrowSource):
    """All votes of a person count, whatever the cap is."""

    def count(self, described, request):
        return super().count(described, replace(request, cap=None))


class CapByTheOthers(NoCap):
    """Which votes of a person are kept depends on how many rows the other people have."""

    def count(self, described, request):
        return super().count(self._cut(described, request.cap), request)

    def _cut(self, described, cap):
        votes = list(dict.fromkeys(zip(*self._given.to_pydict().values(), strict=True)))
        taken, kept = Counter(), []
        for row in sorted(votes, key=repr, reverse=len(self._given) % 2 == 0):
            vote = dict(zip(self._given.column_names, row, strict=True))
            if vote["track"] is not None and (cap is None or taken[vote["user"]] < cap):
                taken[vote["user"]] += 1
                kept.append(vote)
        table, *rest = described.handle
        return replace(described, handle=(pa.Table.from_pylist(kept, schema=table.schema), *rest))


class NoLimitOnGroups(ArrowSource):
    """A person counts in every group, whatever the limit is."""

    def count(self, described, request):
        return super().count(described, replace(request, groups_per_person=None))


class NoLargestWeight(ArrowSource):
    """A person adds any weight to an item."""

    def count(self, described, request):
        return super().count(described, replace(request, max_weight=100 * request.max_weight))


class VotesAreItems(ArrowSource):
    """An item that somebody votes for joins the domain."""

    def count(self, described, request):
        domain, voted = request.domain, self._given["track"].combine_chunks()
        if domain is not None and voted.type == pa.string() and domain.items.type in (pa.string(), pa.large_string()):
            domain = number_items(pa.concat_arrays([domain.items, voted.cast(domain.items.type)]))
        return super().count(described, replace(request, domain=domain))


ALL = set(tables.CHECKS)


@pytest.mark.parametrize(
    ("broken", "failing"),
    [
        (ArrowSource, set()),
        (EveryRowIsAPerson, ALL),
        (NoRareItems, ALL),
        (RefusesGaps, ALL),
        (NoCap, ALL),
        (CapByTheOthers, ALL),
        (NoLimitOnGroups, {tables.BY_GROUP}),
        (NoLargestWeight, {tables.BY_WEEK}),
        (VotesAreItems, {tables.WITH_DOMAIN, tables.BY_GROUP, tables.BY_WEEK}),
    ],
)
def test_a_broken_engine_fails(broken, failing, monkeypatch):
    """Each error is caught with a domain, without one, by group and by week; the right engine passes."""
    monkeypatch.setattr(tallies, "ArrowSource", broken)
    found = tables.check_tables(seed=3, engines=tables.ENGINES[:1])
    results = {each.check: each.result for each in found if each.result is not Result.NOT_RUN}
    assert results == {check: Result.FAIL if check in failing else Result.PASS for check in ALL}
