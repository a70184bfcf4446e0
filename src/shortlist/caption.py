"""What a release says about itself in sentences: a headline, a caption, a paragraph for readers. They name no item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shortlist.mechanisms import MECHANISMS
from shortlist.privacy.numbers import write_count
from shortlist.terms import MAY_BE_RANDOM

if TYPE_CHECKING:
    from shortlist.release import Publication

NOT_SECURE = "NOT SECURE: made with repeatable randomness, for tests only."


def write_caption(release: Publication) -> list[str]:
    """Say what is listed, what it promises, and how good it is."""
    guarantee, together = release.guarantee, " of all lists together" if release.by else ""
    some = any(release.lists) or any(each.is_left_out for each in release.lists)
    return [
        *mark(release),
        write_headline(release) + ("." if some else ". The votes are too few, or too close to each other."),
        f"Guarantee{together}: {guarantee}. {guarantee.in_words}",
        *write_remarks(release),
        _write_origin(release),
    ]


def explain(release: Publication) -> str:
    """Write a paragraph for readers who do not know differential privacy."""
    reveal, wrong = ("all lists together reveal", "a list") if release.by else ("the list reveals", "the list")
    sentences = [
        *mark(release),
        introduce(release),
        f"Chance was added on purpose, to limit what {reveal} about any one {release.guarantee.unit}.",
        release.guarantee.in_words,
        *_mention_others(release),
        f"For the same reason {wrong} may be wrong: items with close counts may change places, and an item may be "
        "listed that does not belong there.",
        *write_remarks(release),
        f"Made with shortlist {release.version} by {release.mechanism}: {release.guarantee}.",
    ]
    return " ".join(sentences)


def _mention_others(release: Publication) -> list[str]:
    """Say that what the releases of a ledger reveal adds up: a reader of one of them may read the others, too."""
    if release.charge is None:
        return []
    alone = "these lists" if release.by else "this list"
    return [f"This holds for {alone} alone: what other releases reveal adds to it."]


def mark(release: Publication) -> list[str]:
    """Say that a release is not secure, before anything that it promises."""
    return [] if release.secure else [NOT_SECURE]


def write_headline(release: Publication) -> str:
    """Say how many items of how many, in which order, and by which mechanism."""
    if release.by:
        empty = sum(not each and not each.is_left_out for each in release.lists)
        are_empty = f" ({empty:,} {'is' if empty == 1 else 'are'} empty)" if empty else ""
        size = f"{_count_lists(release)}: {_count_items(release)} in each{are_empty}"
    else:
        k, number = release.parameters.get("k"), len(release.lists[0])
        asked = f" (up to {k:,} were asked for)" if isinstance(k, int) and number < k else ""
        size = (f"The top {_count_items(release)}" if number else "No items") + asked
    order = "" if release.ordered or not any(release.lists) else ", in no order"
    chosen = release.parameters.get("chosen")
    return f"{size}{order}, by {release.mechanism}" + (f", which chose {chosen}" if chosen else "")


def introduce(release: Publication) -> str:
    """Say how many items of how many are listed, in a sentence."""
    order = "most popular first" if release.ordered else "in no order"
    if release.by:
        lists = f"These {_count_lists(release)}, each of {_count_items(release)}, {order}"
        return f"{lists}, were made with differential privacy."
    if not any(release.lists):
        return "No item had enough votes to be listed. This was found with differential privacy."
    return f"This list of {_count_items(release)}, {order}, was made with differential privacy."


def _count_lists(release: Publication) -> str:
    """Count the lists of a family, and the groups with too few people, which have none."""
    number, out = len(release.lists), sum(each.is_left_out for each in release.lists)
    left_out = f" ({out:,} of {number:,} groups {'has' if out == 1 else 'have'} too few people)" if out else ""
    return f"{count_drawn(release)} by {' and '.join(release.by)}{left_out}"


def count_drawn(release: Publication) -> str:
    """Count the lists of a family that were drawn."""
    return write_count(sum(not each.is_left_out for each in release.lists), "lists")


def _count_items(release: Publication) -> str:
    """Count the items of a list, or say how many each list of a family has, and of how many."""
    sizes = [each.domain_size for each in release.lists if each.domain_size is not None]
    of_all = f" of {write_range(sizes)}" if sizes else ""
    if not release.by:
        number: Any = len(release.lists[0])
        counted = f"{number:,}"
    else:
        number, fixed = release.parameters.get("k"), release.up_to is None and "at_least" not in release.parameters
        counted = f"{'the top' if fixed else 'up to'} {number}"
    return f"{counted}{of_all} {'item' if max(sizes, default=number) == 1 else 'items'}"


def write_remarks(release: Publication) -> list[str]:
    """Say which votes count, and how good the lists are.

    An assessed bound is left out where the public bound is at most as large. The public bound is always stated, so
    each bound that is stated is false with its stated probability at most.
    """
    found, lists = describe_votes(release), release.lists
    if release.mechanism not in MECHANISMS:
        found.append(f"{release.mechanism} is no mechanism of shortlist: its author states the guarantee.")
    found += _describe_counts(release)
    people = _find_first(each.noisy_people for each in lists)
    if people is not None:
        chance, fewest = f"{float(people.confidence):g}", release.parameters.get("min_people")
        interval = "the number before noise lies from people_low to people_high"
        without = f" Groups with fewer than {fewest:,} have no list." if isinstance(fewest, int) else ""
        found.append(f"Numbers of people are noisy: {interval} with probability {chance}, for each group.{without}")
    public = max((each.error_bound for each in lists if each.error_bound), key=lambda each: each.votes, default=None)
    if public is not None:
        least = write_count(public.votes, release.counted_in)
        nothing = f" It says nothing about places whose true item has {least} or fewer: these may hold random items."
        found.append(f"Accuracy{' of each list' if release.by else ''}: {public}.{nothing if public.votes else ''}")
    return [*found, *(_compare_bounds(release) if release.by else _describe_assessment(release))]


def _describe_counts(release: Publication) -> Iterator[str]:
    counts, unit = _find_first(each.counts for each in release.lists), release.counted_in
    if counts is None:
        return
    chance = counts.confidence and f"{float(counts.confidence):g}"
    interval = f": the count before noise lies from low to high with probability {chance}, for each item"
    of_unit = f" numbers of {unit}" if "weight_unit" in release.parameters else ""
    yield f"Counts are noisy{of_unit}{interval if chance else ''}."
    if counts.others is not None and release.by:
        yield f"The record has a noisy count of the {unit} for the other items of each group, too."
    elif counts.others is not None:
        ends = f"{counts.others_low:,} to {counts.others_high:,} with probability {chance}"
        yield f"All other items have {write_count(counts.others, unit)} together (before noise, from {ends})."


def _describe_assessment(release: Publication) -> Iterator[str]:
    """Say what the data told about the error of one list."""
    public, assessed = release.lists[0].error_bound, release.lists[0].assessment
    if assessed is not None:
        shorter = public is not None and public.votes <= assessed.bound.votes
        yield f"Assessment: {'no smaller bound follows from these data' if shorter else assessed}."


def _compare_bounds(release: Publication) -> Iterator[str]:
    """Say what the data told about the errors of the lists of a family, and which lists may be random."""
    lists, unit = release.lists, release.counted_in
    public = [each.error_bound.votes for each in lists if each.error_bound]
    assessed = [each.assessment.bound.votes for each in lists if each.assessment]
    if public and min(public) < max(public):
        yield f"The lists have bounds of their own, of {write_range(public)} {unit}."
    if assessed:
        yield f"Assessment: on these data, the bounds are {write_range(assessed)} {unit}."
    if public or assessed:
        yield "Each bound holds with its probability by itself, not all at once."
    marked = sum(each.remark == MAY_BE_RANDOM for each in lists)
    if marked:
        most = "what the people there can add" if "weight_unit" in release.parameters else "the people there"
        noisy = ", by the noisy number" if all(each.people is None for each in lists) else ""
        yield f"{marked:,} of {count_drawn(release)} {MAY_BE_RANDOM}: the bound is at least {most}{noisy}."


def describe_votes(release: Publication) -> list[str]:
    """Say the votes of which days count, what a unit is, how much one may have added, and who ensured it."""
    return [*_describe_days(release), _describe_limits(release)]


def _describe_days(release: Publication) -> Iterator[str]:
    span, unit = release.span, release.guarantee.unit
    if span is None:
        return
    zone = "" if span.time_zone is None else f", {span.time_zone}"
    period = "" if release.period is None else f" ({release.period})"
    yield f"Votes {span.in_words}{zone}{period} are counted."
    if span.per is not None:
        whole, n = span.per.find_whole(unit), span.units[-1] + 1
        yield (
            f"A {unit} is the votes of one {whole} in one {span.per}. A {whole} with votes in {n:,} "
            f"{span.per}{'s' * (n > 1)} has {n:,} of them: the guarantee holds for each, and for the whole {whole} "
            f"epsilon and delta are up to {n:,} times as large."
        )


def _describe_limits(release: Publication) -> str:
    unit, parameters = release.guarantee.unit, release.parameters
    cap, lists, largest, quantile = (
        parameters.get(name) for name in ("votes_per_person", "groups_per_person", "max_weight", "cap_quantile")
    )
    limit = "" if lists is None else f", in at most {write_count(lists, 'groups')}"
    if not release.persons_counted:
        votes = "" if cap is None else f", and has at most {write_count(cap)}"
        return f"The caller states that one {unit} adds at most {parameters.get('sensitivity', 1)}{limit}{votes}."
    how = ""
    if quantile is not None:
        share = f"about {float(100 * quantile):.0f} % of {unit}s"
        how = f" The limit of {cap:,} was chosen with differential privacy, so that {share} stay within it."
    about = "Counts and accuracy refer to what is counted:"
    if largest is not None:
        items = "" if cap is None else f", for at most {write_count(cap, 'items')}"
        most = f"Each {unit} adds at most {write_count(largest, release.counted_in)} to an item{items}{limit}"
        return f"{most}.{how} {about} an item may have more."
    about += " more people may have chosen an item."
    if cap is None:
        return f"Each {unit} is counted once for an item{limit}." + (f" {about}" if limit else "")
    most = f"At most {write_count(cap)} of each {unit}{limit}{',' if limit else ''}"
    return f"{most} {'is' if cap == 1 else 'are'} counted.{how} {about}"


def _write_origin(release: Publication) -> str:
    """Say which release it is, when it was made, and what it was charged to."""
    made = f"Release {release.id[:12]}, {release.made:%Y-%m-%d %H:%M} UTC, by shortlist {release.version}"
    whose = f" for {release.population}" if release.population else ""
    ledger = f"ledger {(release.ledger or '')[:12]}{whose}"
    charged = "" if release.charge is None else f", charge {release.charge:,} of {ledger}"
    period = "" if release.period is None or release.span is not None else f" Period: {release.period}."
    return f"{made}{charged}.{period}" + ("" if release.note is None else f" Note: {release.note}.")


def write_range(numbers: Sequence[int]) -> str:
    """Write the smallest and the largest number, or the one that there is.

    >>> write_range([2000, 3]), write_range([7, 7])
    ('3 to 2,000', '7')
    """
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _find_first(found: Iterable[Any]) -> Any:
    """Find the first value that is not None: groups with too few people have no list."""
    return next((each for each in found if each is not None), None)
