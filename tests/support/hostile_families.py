"""Hostile votes of families: what one more person may not change, in groups of every type.

The groups are pairs of a value of a hostile column and a week, or values of the hostile column alone. Without a domain,
items may be hostile, too, and so may weights.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hostile import (
    COMMON,
    DOMAINS,
    EVERYTHING,
    EVERYWHERE,
    FAMILIES,
    KINDS,
    ODDITIES,
    PERSONS,
    count_spark_chain,
    list_matching,
    make_array,
    read_value,
)
from hypothesis import strategies as st

from shortlist.errors import DataError
from shortlist.profile import EVERY_LEVEL, Picks
from shortlist.votes.domain import number_items
from shortlist.votes.groups import number_cells, number_groups
from shortlist.votes.matching import Lookup, can_match
from shortlist.votes.source import VOTES, check_types, read_request
from shortlist.votes.tallies import TallyPlan, open_votes
from shortlist.votes.values import make_arrow_column, read_type, write_item

WEEKS = [1, 2, 3]
FORMS = ("domain", "catalogue", "observed")
LARGEST = 7
"""The largest weight of one person in a cell."""
WEIGHING = {
    "text": [
        *("2", "3.9", "1e2", "2e+00", "inf", "Infinity", "nan", "-5", "", "x", "\u0663", "1,5", " 7", "7 ", "7\n"),
        *(
            "0x10",
            "1_0",
            "9" * 40,
            "9" * 60,
            "+3",
            "1e999",
            "9e99",
            "1e-99",
            ".5",
            "5.",
            "2.5.1",
            "-inf",
            "Inf\u0131nity",
        ),
    ],
    "float64": [2.0, 3.9, 0.999, 1e300, -0.0, -2.5, math.nan, math.inf, -math.inf, 2.0**53 + 2],
    "float32": [2.0, 3.5, 0.5, -2.5, math.nan, math.inf, -math.inf, 2.0**24 + 2],
    "int64": [2, 3, 6, 0, -1, 2**63 - 1, -(2**63)],
    "int8": [2, 3, 6, 0, -1, 127, -128],
    "uint64": [2, 3, 6, 0, 2**64 - 1],
    "decimal 20,5": [Decimal("2"), Decimal("3.99999"), Decimal("0.99999"), Decimal("-1"), Decimal(10**14)],
    "decimal 38,0": [Decimal("2"), Decimal("6"), Decimal("-1"), Decimal(10**37)],
}
"""Weights of each type, most of which an engine may round, refuse or add up to too much."""
ANY_WEIGHT = [each for values in WEIGHING.values() for each in values] + [
    *(Decimal("Infinity"), Decimal("-Infinity"), Decimal("1e999999"), Decimal("-1e999999"), 10**400, True, [2], {}),
]
ITEMS = ["a", "b", "7", "ä"]
"""The items of families with a domain; the groups are what is hostile, and items that are not listed."""


@dataclass(frozen=True)
class Family:
    """The groups by the name of their domain, the type of their column (None: any), and the persons with their votes.

    A vote is a value of the column of groups, a week, an item and a weight.
    """

    listed: str
    kind: str | None
    named: str
    people: list
    several: bool
    form: str
    """Whether items are those of a `domain`, of a `catalogue` by group, or `observed`."""
    c: int
    cap: int | None
    items: str | None = "text"
    """The type of the column of items (None: any)."""
    private: bool = False
    """Whether the cap is chosen while the votes are counted, from numbers that one person changes by at most 1."""
    weighed: str | None = None
    """The type of the column of weights, or `any`; None if there is none."""

    def columns_of(self, people):
        """The columns of some people, as Arrow arrays or as Python lists."""
        rows = [(person, *vote) for person, votes in people for vote in votes]
        users, places, weeks, items, lengths = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [], [])
        if self.kind is None:
            columns = {"user": users, "place": places, "week": weeks, "track": items}
            return columns if self.weighed is None else {**columns, "length": lengths}
        columns = {
            "user": make_array(users, PERSONS[self.named][0]),
            "place": make_array(places, KINDS[self.kind][0]),
            "week": pa.array(weeks, pa.int64()),
            "track": make_array(items, KINDS[self.items][0]),
        }
        return columns if self.weighed is None else {**columns, "length": pa.array(lengths, KINDS[self.weighed][0])}

    def make_request(self):
        """What is asked of the votes, with the public groups and items."""
        by = ("place", "week") if self.several else ("place",)
        request = read_request(
            item="track", person="user", count=None, votes_per_person=self.cap, by=by, groups_per_person=self.c,
            weight=self.weighed and "length", max_weight=self.weighed and LARGEST,
        )  # fmt: skip
        values = DOMAINS[self.listed][:3]
        groups = list(itertools.product(values, WEEKS[:2]))[:5] if self.several else [(each,) for each in values]
        domain = None if self.form == "observed" else number_items(pa.array(ITEMS))
        listed = number_groups(make_groups(groups))
        if self.form == "catalogue":
            # Every second item, beginning with another one in each group.
            cells = [(item, group) for place, group in enumerate(groups) for item in ITEMS[place % 2 :: 2]]
            domain, listed = number_cells(pa.array([item for item, _ in cells]), make_groups([g for _, g in cells]))
        request = replace(request, domain=domain, groups=listed, groups_per_person=min(self.c, len(listed)))
        return replace(request, cap=3, caps=(1, 2, 3), choose_cap=lambda _: self.cap or 3) if self.private else request


def make_groups(groups):
    """The columns of some groups, as Arrow arrays."""
    return [make_arrow_column(column, what="the groups") for column in zip(*groups, strict=True)]


def families(kinds=COMMON, *, people, fewest=None, mixed=False, named=EVERYWHERE, forms=FORMS, weighed=()):
    """Draw families whose column of groups has one of some kinds, or values of all kinds.

    The column of weights has one of the kinds `weighed`. If there are none, there is no such column.
    """

    @st.composite
    def draw_family(draw):
        kind = None if mixed else draw(st.sampled_from(kinds))
        among = None if kind is None else read_type(KINDS[kind][0]).family
        fitting = [name for name in sorted(DOMAINS) if among is None or can_match(FAMILIES[name], among)]
        listed = draw(st.sampled_from(fitting * 4 + sorted(DOMAINS)))
        values = st.sampled_from(EVERYTHING + ODDITIES) if kind is None else KINDS[kind][1]
        matching = list_matching(listed, kind)
        places = st.none() | values | (st.sampled_from(matching[:4]) if matching else values)
        form = draw(st.sampled_from(forms))
        items, item_kind = st.sampled_from([*ITEMS, *ITEMS, "A", "z", None]), None if mixed else "text"
        if form == "observed":
            item_kind = None if mixed else draw(st.sampled_from(kinds))
            # A few values, so that several people vote for one item.
            drawn = st.sampled_from(EVERYTHING + ODDITIES) if mixed else KINDS[item_kind][1]
            items = st.none() | st.sampled_from(draw(st.lists(drawn, min_size=1, max_size=4))) | drawn
        weights, of_weights = st.just(1), None
        if weighed:
            of_weights = "any" if mixed else draw(st.sampled_from(weighed))
            hostile = ANY_WEIGHT + ODDITIES if mixed else WEIGHING[of_weights]
            # Some are ordinary, so that sums of several rows are below the largest weight, too.
            weights = st.none() | st.sampled_from(hostile) | st.sampled_from(hostile[:2])
        votes = st.lists(st.tuples(places, st.sampled_from([*WEEKS, 1, None]), items, weights), min_size=1, max_size=8)
        chosen = draw(st.sampled_from(named))
        pairs = st.tuples(PERSONS[chosen][1], votes)
        drawn = draw(st.lists(pairs, min_size=fewest or people, max_size=people, unique_by=lambda pair: pair[0]))
        return Family(
            listed=listed,
            kind=kind,
            named=chosen,
            people=drawn,
            several=draw(st.booleans()),
            form=form,
            items=item_kind,
            c=draw(st.sampled_from([1, 2, 9])),
            cap=draw(st.none() | st.integers(1, 3)),
            private=draw(st.sampled_from([False, False, True])),
            weighed=of_weights,
        )

    return draw_family()


def check_cube(case, hold, workspace, *, free=3, exact=True):
    """Count the table with each subset of the last `free` people, and compare all neighbours; return their number."""
    request, found, pairs = case.make_request(), {}, 0
    always, sometimes = case.people[:-free], case.people[-free:]
    for chosen in itertools.product([False, True], repeat=free):
        data = case.columns_of(always + list(itertools.compress(sometimes, chosen)))
        found[chosen] = outcome(workspace, hold(data), request)
        check_exact(found[chosen], request, data, exact=exact)
        for place in itertools.compress(range(free), chosen):
            compare(found[(*chosen[:place], False, *chosen[place + 1 :])], found[chosen], request)
            pairs += 1
    return pairs


def check_spark_chain(case, session, workspace):
    """Count the table of the first people and one more after the other, in one job of Spark; return the pairs."""
    request, tables = case.make_request(), []
    for rows in count_spark_chain(case, session, lambda votes: plan_count(workspace, votes, request)):
        found, most = defaultdict(int), request.caps.index(request.choose_cap(())) if request.caps else 0
        for row in rows:
            item, step = row["item"], row.get("step", 0)
            found["exceeding", step] += row.get("exceeding", 0)
            if step > most:
                continue
            if request.domain is not None:
                numbers, places = np.array([row["group_number"]]), np.array([item])
                item = request.domain.names(request.groups.find_rows(numbers, places))[0]
            found[row["group_number"], write_item(item)] += row["votes"]
        tables.append({cell: votes for cell, votes in found.items() if votes})
    for before, after in itertools.pairwise(tables):
        compare(before, after, request)
    for size, found in enumerate(tables, 1):
        check_exact(found, request, case.columns_of(case.people[:size]))
    return len(case.people) - 1


def plan_count(workspace, votes, request):
    """Describe votes and check them as a release does."""
    source = open_votes(workspace, votes)
    with source.explain_failures():
        described = source.describe(lambda header: header.take(request.columns, where=VOTES))
    check_types(described, request)
    return TallyPlan(workspace=workspace, source=source, described=described, request=request)


def outcome(workspace, votes, request):
    """The votes of each cell that has some, by the number of its group and the bytes of its item; or an error."""
    exceeding = []
    if request.caps:
        chosen, before = request.choose_cap(()), request
        request = replace(before, choose_cap=lambda numbers: exceeding.extend(numbers) or chosen)
    try:
        counted = plan_count(workspace, votes, request).count()
    except DataError as error:
        return str(error)
    assert len(counted) == len(request.groups)
    if request.domain is not None:
        assert [levels.d for levels in counted] == request.groups.count_items(request.domain).tolist()
    picks = []
    for levels in counted:
        profile = levels.above(levels.d, EVERY_LEVEL)
        ranks = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(size) for size in profile.sizes)])
        picks.append(Picks(levels=np.repeat(profile.values, profile.sizes), ranks=ranks.astype(np.int64)))
    found = {}
    for number, (items, pick) in enumerate(zip(counted.names(counted.rows(picks)), picks, strict=True)):
        keys = [write_item(item) for item in items]
        assert len(set(keys)) == len(keys), "an item is there twice"
        found.update({(number, key): level for key, level in zip(keys, pick.levels.tolist(), strict=True) if level})
    found.update({("exceeding", place): number for place, number in enumerate(exceeding) if number})
    return found


def compare(before, after, request):
    """One person more: votes grow by 0 or 1, or by a weight, in at most c groups and at most `cap` cells."""
    if isinstance(before, str) or isinstance(after, str):
        assert before == after, "an error depends on one person"
        return
    assert before.keys() <= after.keys(), "a cell vanishes"
    growth = {cell: votes - before.get(cell, 0) for cell, votes in after.items()}
    assert all(0 <= each <= request.max_weight for each in growth.values()), "too much in a cell"
    assert all(growth[cell] <= 1 for cell in growth if cell[0] == "exceeding"), "a person is counted twice"
    grown = [cell for cell, more in growth.items() if more and cell[0] != "exceeding"]
    assert len({group for group, _ in grown}) <= request.groups_per_person, "too many groups"
    cap = request.choose_cap(()) if request.caps else request.cap
    assert cap is None or len(grown) <= cap, "too many cells"
    steps = [place for (group, place), more in growth.items() if more and group == "exceeding"]
    assert steps == [*range(len(steps))] or request.domain is None, "a person exceeds a cap and not a smaller one"


def check_exact(found, request, data, *, exact=True):
    """Compare votes with the rule of matching, value by value; with a limit, they are at most that many."""
    if not exact or isinstance(found, str):
        return
    columns = {name: [read_value(each) for each in data[name]] if isinstance(data[name], pa.Array) else data[name]
               for name in data if name != "user"}  # fmt: skip
    users = data["user"]
    if isinstance(users, pa.Array):
        users = (users.cast(pa.int64()) if pa.types.is_temporal(users.type) else users).to_pylist()
    codes = [
        [*map(Lookup(public).find, columns[name])]
        for name, public in zip(request.by, request.groups.columns, strict=True)
    ]
    numbers = {tuple(group): number for number, group in enumerate(request.groups.codes.tolist())}
    persons = defaultdict(lambda: defaultdict(int))
    lengths = columns.get("length", [1] * len(users))
    for user, item, length, *group in zip(users, columns["track"], lengths, *codes, strict=True):
        number, key = numbers.get(tuple(group)), write_item(item)
        if number is not None and key is not None and is_listed(request, number, item):
            persons[number, key][user] += weigh(length, request.max_weight)
    sums = {cell: sum(min(n, request.max_weight) for n in of.values()) for cell, of in persons.items()}
    expected = {cell: votes for cell, votes in sums.items() if votes}
    if any(request.limits):
        counted = {cell: votes for cell, votes in found.items() if cell[0] != "exceeding"}
        assert all(votes <= expected.get(cell, 0) for cell, votes in counted.items()), "votes out of nothing"
    else:
        assert found == expected, "the rule of matching"


def weigh(value, largest):
    """The rule of weights, value by value."""
    value = value.item() if isinstance(value, np.generic) else value
    value = value.real if isinstance(value, complex) and not value.imag else value
    if isinstance(value, str):
        readable = re.fullmatch(r"[0-9]{1,40}(\.[0-9]{0,40})?([eE][-+]?[0-9]{1,2})?|[iI]nf(inity)?", value, re.ASCII)
        value = float(value) if readable else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or math.isnan(Decimal(value)):
        return 0
    decimal = Decimal(value)
    if decimal.is_infinite() or decimal.adjusted() > 30:
        return largest if decimal > 0 else 0
    return min(largest, max(0, math.floor(Fraction(decimal))))


def is_listed(request, number, item):
    """Whether an item is one of a group."""
    if request.domain is None:
        return True
    places = np.arange(request.groups.count_items(request.domain)[number])
    return item in request.domain.names(request.groups.find_rows(np.full(len(places), number), places))
