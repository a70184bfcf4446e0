"""Families of lists: every engine counts the same cells, under the same limits."""

import random
from collections import Counter
from datetime import date

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tallying import draw, order, plan_count

from shortlist.errors import DataError, ParameterError
from shortlist.profile import EVERY_LEVEL, Picks

ITEMS = ["a", "b", "c", "d", "e", "never"]
COUNTRIES = ["de", "at", "ch"]
GROUPS = [("de", 2), ("at", 1), ("de", 1), ("ch", 2), ("li", 1)]
"""Some pairs of a country and a week; nobody votes in the last one."""
CATALOGUE = {
    "track": ["c", "a", "b", "a", "b", "never", "a", None, "a"],
    "country": ["de", "de", "de", "at", "at", "at", "ch", "ch", "de"],
}
LIMITS = [(1, None), (2, None), (None, 1), (None, 4), (2, 3), (1, 2), (9, 99)]
FEW_LIMITS = [(1, None), (None, 4), (2, 3), (9, 99)]
"""On groups, on cells, on both, and more than anybody has."""


@pytest.fixture
def limits(engine):
    """The numbers do not depend on the engine. So they are few for engines whose rows are counted as those of PyArrow
    are."""
    return LIMITS if engine in ("pyarrow", "duckdb", "duckdb file", "ibis", "postgres", "spark") else FEW_LIMITS


def draw_votes(seed=1, people=40):
    """Rows of a person, a country, a week and an item: some without one of them, of an unknown group or item."""
    bits = random.Random(seed)
    countries, weeks, items = [*COUNTRIES, "xx", None], [1, 2, 3, None], [*ITEMS[:-1], "z", None]
    rows = [(None, "de", 1, "a"), (1, "de", 1, "a"), (1, "de", 1, "a")]
    for person in range(people):
        for _ in range(bits.randrange(1, 12)):
            rows.append((person, *(bits.choice(values) for values in (countries, weeks, items))))
    return rows


def make_columns(rows):
    return dict(zip(("user", "country", "week", "track"), map(list, zip(*rows, strict=True)), strict=True))


def count(rows, c, m):
    """The votes of each cell (group and item, in numbers or values) by the rule, of rows of a person and a cell."""
    return dict(Counter(cell for cells in keep(rows, c, m).values() for cell in cells))


def keep(rows, c, m):
    """The cells that are kept of each person, by the rule."""
    cells, kept = {}, {}
    for person, group, item in rows:
        cells.setdefault(person, set()).add((group, item))

    def rank(person, *values):
        return order(person, *(draw(each) if isinstance(each, str) else each for each in values)), *values

    for person, voted in cells.items():
        # A limit on cells limits groups as well.
        kept_groups = None if m is not None and c >= m else c
        groups = sorted({group for group, _ in voted}, key=lambda group: rank(person, group))[:kept_groups]
        voted = [(group, item) for group, item in voted if group in groups]
        kept[person] = sorted(voted, key=lambda cell: rank(person, *cell))[:m]
    return kept


def pick_all(family):
    """All items of each group, in the order of their levels."""
    picks = []
    for levels in family:
        profile = levels.above(levels.d, EVERY_LEVEL)
        assert profile.d == levels.d == profile.sizes.sum()
        ranks = [np.arange(size) for size in profile.sizes]
        picks.append(
            Picks(
                levels=np.repeat(profile.values, profile.sizes),
                ranks=np.concatenate([*ranks, np.zeros(0, dtype=np.int64)]).astype(np.int64),
            )
        )
    return picks


def read_cells(family):
    """All items of each group with their votes, found together."""
    picks = pick_all(family)
    return [
        list(zip(items, each.levels.tolist(), strict=True))
        for items, each in zip(family.names(family.rows(picks)), picks, strict=True)
    ]


def plan(votes, **options):
    return plan_count(votes, **{"item": "track", "person": "user", **options})


def check_order(cells):
    """Votes fall, and equal ones are in the order of the items."""
    for listed in cells:
        assert listed == sorted(listed, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.parametrize("domain", [ITEMS, None], ids=["domain", "observed"])
def test_every_engine_counts_the_same_cells(hold, limits, domain):
    """With one column of groups and with two, under every combination of limits."""
    rows, numbers = draw_votes(), {item: place for place, item in enumerate(ITEMS)}
    votes = hold(make_columns(rows))["votes"]
    known = numbers if domain else {item: item for item in [*ITEMS, "z"]}
    for by, groups in ((("country",), [(each,) for each in COUNTRIES]), (("country", "week"), GROUPS)):
        voted = [
            (user, groups.index(group), known[item])
            for user, country, week, item in rows
            if user is not None and (group := (country, week)[: len(by)]) in groups and item in known
        ]
        for c, m in limits if len(by) == 2 else limits[-3:-1]:
            options = {"by": by, "groups": groups, "groups_per_person": c, "votes_per_person": m}
            planned = plan(votes, domain=domain, observed=domain is None, **options)
            assert planned.groups == tuple(groups)
            assert planned.sizes == (None if domain is None else (len(ITEMS),) * len(groups))
            assert planned.request.groups_per_person == min(c or 99, m or 99, len(groups))
            found = read_cells(planned.count())
            expected = count(voted, planned.request.groups_per_person, m)
            check_order(found)
            named = {(g, known[item]): votes for g, listed in enumerate(found) for item, votes in listed if votes}
            assert named == expected, (by, c, m)
            if domain is not None:
                assert [sorted(item for item, _ in listed) for listed in found] == [sorted(ITEMS)] * len(groups)


@pytest.mark.parametrize("domain", [ITEMS, None], ids=["domain", "observed"])
def test_every_engine_counts_the_people_of_a_group(hold, domain):
    """After the limits, in the query that counts the votes, which stay the same. Items are found at once or by row."""
    rows, known = draw_votes(seed=3), {item: place for place, item in enumerate([*ITEMS, "z"])}
    votes = hold(make_columns(rows))["votes"]
    voted = [
        (user, GROUPS.index((country, week)), known[item] if domain else item)
        for user, country, week, item in rows
        if user is not None and (country, week) in GROUPS and item in (ITEMS if domain else known)
    ]
    for c, m in [(9, None), (2, 3)] if domain else [(2, None)]:
        options = {"by": ("country", "week"), "groups": GROUPS, "groups_per_person": c, "votes_per_person": m}
        planned = plan(votes, domain=domain, observed=domain is None, **options, with_people=True)
        family = planned.count()
        kept = keep(voted, planned.request.groups_per_person, m)
        people = Counter(group for cells in kept.values() for group in {group for group, _ in cells})
        assert family.people.tolist() == [people[group] for group in range(len(GROUPS))], (c, m)
        counted = Counter(cell for cells in kept.values() for cell in cells)
        found = [[votes for _, votes in listed if votes] for listed in read_cells(family)]
        assert found == [
            sorted((votes for (group, _), votes in counted.items() if group == place), reverse=True)
            for place in range(len(GROUPS))
        ]


def test_repeated_votes_count_once(hold, limits):
    """Under every limit, also where most votes are repeated, and persons with many votes of few cells keep them all."""
    rows = draw_votes(seed=4) * 4
    voted = [
        (user, GROUPS.index((country, week)), ITEMS.index(item))
        for user, country, week, item in rows
        if user is not None and (country, week) in GROUPS and item in ITEMS
    ]
    votes = hold(make_columns(rows))["votes"]
    for c, m in limits:
        options = {"by": ("country", "week"), "groups": GROUPS, "groups_per_person": c, "votes_per_person": m}
        planned = plan(votes, domain=ITEMS, **options)
        found = read_cells(planned.count())
        named = {(g, ITEMS.index(item)): votes for g, listed in enumerate(found) for item, votes in listed if votes}
        assert named == count(voted, planned.request.groups_per_person, m), (c, m)


def test_items_without_votes_are_found_in_large_groups(hold):
    """By their ranks, in groups with few votes, with stretches full of votes, and without any."""
    domain, bits = list(range(3500)), random.Random(5)
    voted = {"few": bits.sample(domain, 40), "full": [*range(900, 2200), *range(3000, 3500)], "none": []}
    rows = [(item % 7, group, item) for group, items in voted.items() for item in items]
    columns = dict(zip(("user", "country", "track"), map(list, zip(*rows, strict=True)), strict=True))
    planned = plan(hold(columns)["votes"], domain=domain, by="country", groups=list(voted), groups_per_person=9)
    found = read_cells(planned.count())
    for listed, items in zip(found, voted.values(), strict=True):
        assert [item for item, votes in listed if not votes] == sorted(set(domain) - set(items))
        assert [item for item, votes in listed if votes] == sorted(items)


def test_a_catalogue_lists_items_by_group(hold, limits):
    """An item that is listed in three groups is three cells before the limit, and no cell in the others."""
    rows = draw_votes(seed=2)
    votes = hold(make_columns(rows))["votes"]
    listed = {"de": ["a", "b", "c"], "at": ["a", "b", "never"], "ch": ["a"]}
    voted = [
        (user, list(listed).index(country), listed[country].index(item))
        for user, country, _, item in rows
        if user is not None and country in listed and item in listed[country]
    ]
    for c, m in limits:
        planned = plan(votes, domain=CATALOGUE, by="country", groups_per_person=c, votes_per_person=m)
        assert planned.groups == (("de",), ("at",), ("ch",))
        assert planned.sizes == (3, 3, 1)
        found = read_cells(planned.count())
        assert [sorted(item for item, _ in each) for each in found] == list(listed.values())
        expected = count(voted, planned.request.groups_per_person, m)
        places = [dict(map(reversed, enumerate(items))) for items in listed.values()]
        named = {(g, places[g][item]): votes for g, each in enumerate(found) for item, votes in each if votes}
        assert named == expected, (c, m)


def test_any_column_of_groups_may_be_times_of_numpy():
    """Also the second one of a dict, where the votes have their persons."""
    days = np.array(["2026-08-31", "2026-09-01"], dtype="M8[ns]")
    votes = {"user": [1, 2], "track": ["a", "b"], "country": ["de", "at"], "day": days}
    listed = {"country": ["de", "at"], "day": days}
    planned = plan(votes, domain=["a", "b"], by=["country", "day"], groups=listed, groups_per_person=1)
    assert read_cells(planned.count()) == [[("a", 1), ("b", 0)], [("b", 1), ("a", 0)]]


@pytest.mark.parametrize("values", [[3, 1, 2], [date(2024, 2, day) for day in (1, 8)], [True, False], ["7", "07"]])
def test_groups_of_several_types(hold, engine, values):
    """Values of groups match by the rules of items, and what a limit keeps does not depend on their type."""
    if engine == "sqlite file" and isinstance(values[0], date | bool):
        pytest.skip("SQLite has neither dates nor booleans")
    rows = [(user, value, item) for user in range(9) for value in values for item in "ab"]
    columns = dict(zip(("user", "country", "track"), map(list, zip(*rows, strict=True)), strict=True))
    planned = plan(
        hold(columns)["votes"], domain=["a", "b"], by="country", groups=values, groups_per_person=1, votes_per_person=1
    )
    found = read_cells(planned.count())
    voted = [(user, values.index(value), "ab".index(item)) for user, value, item in rows]
    named = {(g, "ab".index(item)): votes for g, listed in enumerate(found) for item, votes in listed if votes}
    assert named == count(voted, 1, 1)
    assert planned.groups == tuple((value,) for value in values)


def test_declared_counts_are_those_of_cells(hold):
    """Each cell has one count; the same item may have one in each group."""
    columns = {
        "country": ["de", "at", "de", "xx", "de"],
        "track": ["a", "a", "b", "a", "z"],
        "n": [5, 2, 0, 9, 1],
    }
    options = {"item": "track", "count": "n", "by": "country", "groups": ["at", "de"], "groups_per_person": 2}
    votes = hold(columns)["votes"]
    found = plan_count(votes, domain=["a", "b"], **options).count()
    assert read_cells(found) == [[("a", 2), ("b", 0)], [("a", 5), ("b", 0)]]
    found = plan_count(votes, observed=True, **options).count()
    assert read_cells(found) == [[("a", 2)], [("a", 5), ("z", 1), ("b", 0)]]


@pytest.mark.parametrize(("count", "text"), [(-1, "counts must be whole"), (7, "counts must name each item once")])
def test_a_cell_without_one_count_is_refused(count, text):
    """As in a table of one list."""
    columns = {"country": ["de", "at", "at"], "track": ["a", "a", "a" if count == 7 else "b"], "n": [5, 2, count]}
    planned = plan_count(
        columns, item="track", count="n", by="country", groups=["at", "de"], domain=["a", "b"], groups_per_person=1
    )
    with pytest.raises(DataError, match=text):
        planned.count()


def test_one_person_is_in_so_many_groups_and_cells():
    """The limits hold for a person with every vote, and only for persons."""
    rows = [(user, group, item) for user in range(50) for group in range(8) for item in ITEMS]
    columns = dict(zip(("user", "country", "track"), map(list, zip(*rows, strict=True)), strict=True))
    for c, m in [(3, None), (3, 7), (8, 7), (2, 100), (None, 5)]:
        whole = plan(
            columns, domain=ITEMS, by="country", groups=range(8), groups_per_person=c, votes_per_person=m
        ).count()
        kept = min(c or 99, m or 99, 8)
        assert sum(votes for listed in read_cells(whole) for _, votes in listed) == 50 * min(
            m or 999, kept * len(ITEMS)
        )
        one = plan(
            {name: values[: 8 * len(ITEMS)] for name, values in columns.items()},
            domain=ITEMS,
            by="country",
            groups=range(8),
            groups_per_person=c,
            votes_per_person=m,
        ).count()
        voted = [sum(votes for _, votes in listed) for listed in read_cells(one)]
        assert sum(map(bool, voted)) <= kept
        assert sum(voted) == min(m or 999, kept * len(ITEMS))


def test_the_list_of_groups_gives_their_order(tmp_path):
    """Repeated groups and rows with gaps are ignored, in a file, a frame, a dict and a list."""
    frame = pl.DataFrame({"week": [2, 1, 2, None, 3], "country": ["de", "at", "de", "de", None]})
    frame.write_csv(tmp_path / "groups.csv")
    frame.write_parquet(tmp_path / "groups.parquet")
    columns = frame.to_dict(as_series=False)
    pairs = [("de", 2), ("at", 1), ("de", 2)]
    votes = make_columns(draw_votes())
    pandas = frame.to_pandas(use_pyarrow_extension_array=True)
    for given in (frame, frame.lazy(), pandas, frame.to_arrow(), columns, pairs, *tmp_path.iterdir()):
        planned = plan(votes, domain=ITEMS, by=("country", "week"), groups=given, groups_per_person=1)
        first = [tuple(map(str, group)) for group in planned.groups]
        assert first == [("de", "2"), ("at", "1")]
        assert planned.people is None
    for given in (frame["country"], pandas["country"], columns["country"], *tmp_path.iterdir()):
        planned = plan(votes, domain=ITEMS, by="country", groups=given, groups_per_person=1)
        assert planned.groups == (("de",), ("at",))


def test_a_list_of_groups_may_tell_their_people():
    """Where the number of people of a group is public."""
    votes, listed = make_columns(draw_votes()), {"country": ["at", "de"], "people": [7, None]}
    assert plan(votes, domain=ITEMS, by="country", groups=listed, groups_per_person=1).people == (7, None)
    with pytest.raises(DataError, match="column 'people' of the groups must hold whole numbers"):
        plan(votes, domain=ITEMS, by="country", groups={**listed, "people": [7, -1]}, groups_per_person=1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"groups": ["de"]}, "groups_per_person or votes_per_person must be given"),
        ({"groups_per_person": 1}, "groups must be the public list of groups"),
        ({"groups_per_person": 1, "domain": None, "observed": True}, "groups must be the public list of groups"),
        ({"groups_per_person": 1, "domain": {"track": ["a"]}}, "or domain must have the columns that by names"),
        ({"groups_per_person": 0, "groups": ["de"]}, "groups_per_person must be a whole number from 1"),
        ({"groups_per_person": 1, "by": ()}, "groups_per_person must go with by"),
        ({"groups_per_person": 1, "by": ("user",), "groups": ["de"]}, "from all others; 'user' has two roles"),
        ({"groups_per_person": 1, "by": ("nation",), "groups": ["de"]}, "the votes must have a column 'nation'"),
        ({"groups_per_person": 1, "groups": [("de", 1)]}, "groups must hold 1 value for each group"),
        ({"groups_per_person": 1, "groups": []}, "groups must hold at least one"),
        ({"groups_per_person": 1, "groups": [1.5]}, "the values of the groups must be text, whole numbers"),
        ({"groups_per_person": 1, "groups": 5}, "groups must be a file, a list"),
        (
            {"groups_per_person": 1, "groups": [b"de"]},
            "column 'country' of the votes must hold values that can be groups",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_row_is_read(options, text):
    """By names, types and public lists alone."""
    votes = pa.table(make_columns(draw_votes()))
    with pytest.raises((DataError, ParameterError), match=text):
        plan(votes, **{"domain": ITEMS, "by": "country", **options})


def test_groups_from_the_votes_are_refused():
    """As a domain is."""
    votes = make_columns(draw_votes())
    for given in (votes, votes["country"]):
        with pytest.raises(ParameterError, match="groups must be the public list of groups"):
            plan(votes, domain=ITEMS, by="country", groups=given, groups_per_person=1)


def test_a_file_of_the_votes_is_no_list_of_groups(tmp_path):
    """As it is no domain."""
    for name in ("one.csv", "two.csv"):
        pl.DataFrame(make_columns(draw_votes())).write_csv(tmp_path / name)
    with pytest.raises(ParameterError, match="groups must not be one of the files of the votes"):
        plan(tmp_path, domain=ITEMS, by="country", groups=tmp_path / "one.csv", groups_per_person=1)


def test_a_person_with_two_texts_counts_once():
    """A whole number and a float may be one person, whose texts differ."""
    votes = {"user": [2**64, float(2**64), "x"], "country": ["de"] * 3, "track": ["a"] * 3}
    family = plan(votes, domain=["a"], by="country", groups=["de", "at"], votes_per_person=3, groups_per_person=1)
    assert read_cells(family.count()) == [[("a", 2)], [("a", 0)]]
    one = plan_count(votes, item="track", person="user", domain=["a"], votes_per_person=3).count()
    assert one[0].above(1, 0).values.tolist() == [2]
