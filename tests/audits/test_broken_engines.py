"""Engines that are wrong in one way each, in the place of a right one: the check of tables fails them."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest

from shortlist.audits import tables
from shortlist.audits.report import Result
from shortlist.errors import DataError
from shortlist.votes import tallies
from shortlist.votes.domain import number_items
from shortlist.votes.duckdb import ArrowSource


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

    def count(self, described, domain, voters):
        return super().count(described, domain, lift_cap(voters))

    def count_observed(self, described, voters):
        return super().count_observed(described, lift_cap(voters))


class CapByTheOthers(NoCap):
    """Which votes of a person are kept depends on how many rows the other people have."""

    def count(self, described, domain, voters):
        described = self._cut(described, voters.cap)
        return super().count(described, domain, voters)

    def count_observed(self, described, voters):
        described = self._cut(described, voters.cap)
        return super().count_observed(described, voters)

    def _cut(self, described, cap):
        votes = list(dict.fromkeys(zip(*self._given.to_pydict().values(), strict=True)))
        taken, kept = Counter(), []
        for person, item in sorted(votes, key=repr, reverse=len(self._given) % 2 == 0):
            if item is not None and (cap is None or taken[person] < cap):
                taken[person] += 1
                kept.append({"user": person, "track": item})
        table, chosen = described.held
        return replace(described, held=(pa.Table.from_pylist(kept, schema=table.schema), chosen))


class VotesAreItems(ArrowSource):
    """An item that somebody votes for joins the domain."""

    def count(self, described, domain, voters):
        voted = self._given["track"].combine_chunks()
        if voted.type == pa.string() and domain.items.type in (pa.string(), pa.large_string()):
            domain = number_items(pa.concat_arrays([domain.items, voted.cast(domain.items.type)]))
        return super().count(described, domain, voters)


def lift_cap(voters):
    return replace(voters, cap=None)


BOTH = {tables.WITH_DOMAIN, tables.WITHOUT_DOMAIN}


@pytest.mark.parametrize(
    ("broken", "failing"),
    [
        (ArrowSource, set()),
        (EveryRowIsAPerson, BOTH),
        (NoRareItems, BOTH),
        (RefusesGaps, BOTH),
        (NoCap, BOTH),
        (CapByTheOthers, BOTH),
        (VotesAreItems, {tables.WITH_DOMAIN}),
    ],
)
def test_a_broken_engine_fails(broken, failing, monkeypatch):
    """Each error is caught with a domain and without one, where it exists; the right engine passes the same tables."""
    monkeypatch.setattr(tables, "ENGINES", [each for each in tables.ENGINES if each.name == "PyArrow"])
    monkeypatch.setattr(tallies, "ArrowSource", broken)
    results = {each.check: each.result for each in tables.check_tables(seed=3) if each.result is not Result.NOT_RUN}
    assert results == {check: Result.FAIL if check in failing else Result.PASS for check in sorted(BOTH)}
