"""The periods of a ledger: a budget for each, a total for all, and the one period that a request is charged to.

The budget of a period is for one person in that period. The votes of two periods are disjoint, because a request keeps
those of its days by their time. So a period costs nothing in another one. The total is for the whole person, and every
release is charged to it in full (budget.proof.md).

Whether a period has ended, the clock of the machine that charges says, in the time zone of the ledger. No guarantee
depends on it: a list of half a week would be a mistake, and not a leak.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from shortlist.errors import ParameterError, refuse_given
from shortlist.ledger.budget import Budget
from shortlist.periods import Every, Period, Span, read_zone
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, quote

UTC_ZONE = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The kind of the periods that have a budget each, the zone in which they begin, and the total over all of them.

    >>> calendar = Calendar(every=Every.WEEK, time_zone="Europe/Berlin")
    >>> str(calendar.read("2026-11-11"))
    '2026-W46'
    """

    every: Every
    time_zone: str = UTC_ZONE
    total: Budget | None = None

    @classmethod
    def plan(
        cls, *, per: str | None, time_zone: str | None, total: Budget | None, total_delta: Real | None
    ) -> Calendar | None:
        """Read the periods of a new ledger; None if it has none."""
        if per is None:
            given = {"time_zone": time_zone, "total_epsilon": total, "total_delta": total_delta}
            refuse_given(given, "`per`, the kind of the periods that have a budget each", hint="pass `per='week'`")
            return None
        if total is None:
            refuse_given({"total_delta": total_delta}, "`total_epsilon`")
        zone = UTC_ZONE if time_zone is None else time_zone
        read_zone(zone)
        return cls(every=Every.read(per, name="per"), time_zone=zone, total=total)

    def restate(self, guarantee: Guarantee, unit: str) -> Guarantee:
        """State the guarantee of a release of one period for the unit of its budget: a person in that period.

        The release reads votes of that period only. So what it promises to a whole person, it promises to the person
        in the period, and the other way round.
        """
        return replace(guarantee, unit=unit) if self.every.name_unit(guarantee.unit) == unit else guarantee

    def read(self, period: object) -> Period:
        """Read a period of the ledger, or a shorter one inside of it."""
        given = Period.read(period)
        if not given.every.makes_up(self.every):
            raise ParameterError(f"`period` must be a {self.every}, as in the ledger", f"not {quote(str(given))}")
        return Period.of(given.first, self.every)

    def find(self, days: Span | str | date | None, now: datetime) -> Period:
        """Find the period that a request is charged to. Refuse one without days, or of days of several periods.

        `days` are those whose votes the request keeps, or a period that the caller vouches for.
        """
        local = now.astimezone(read_zone(self.time_zone))
        example = str(Period.of(Period.of(local.date(), self.every).first - timedelta(1), self.every))
        if days is None:
            zone = "" if self.time_zone == UTC_ZONE else f", and `time_zone={self.time_zone!r}`"
            raise ParameterError(
                f"a release that is charged to this ledger must be of one {self.every}",
                "without `time`, its votes could be of any",
                hint=f"pass `time`, the column of the times of the votes, with `period={example!r}`{zone}. Counts that "
                "you made yourself need the period alone",
            )
        span = days
        if not isinstance(span, Span):
            given = Period.read(days)
            span = Span(since=given.first, until=given.last, time_zone=self.time_zone)
        if (span.time_zone or UTC_ZONE) != self.time_zone:
            raise ParameterError(
                f"`time_zone` must be {self.time_zone!r}, as in the ledger",
                f"not {span.time_zone or UTC_ZONE!r}; a vote near midnight would be charged to two periods",
                hint=f"pass `time_zone={self.time_zone!r}`, or use another ledger",
            )
        period = self._find_whole(span)
        if period is None:
            raise ParameterError(
                f"the days of a release must be one {self.every}, as in the ledger, or a shorter period inside of one",
                f"not {span.since} to {span.until}; a release is charged to one {self.every}",
                hint=f"release each {self.every} on its own, with `period={example!r}`. A range of several, a window "
                "that rolls over them and a period of another kind need a ledger of their own",
            )
        if span.per not in (None, self.every):
            raise ParameterError(
                f"`per` must be {str(self.every)!r}, as in the ledger",
                f"not {str(span.per)!r}: one person in one {self.every} would have it several times",
                hint="leave `per` out",
            )
        if span.until >= local.date():
            raise ParameterError(
                "the period of a release must have ended",
                f"its last day is {span.until}, and in {self.time_zone} it is {local:%Y-%m-%d %H:%M} by the clock of "
                "this machine",
                hint="run again when it has ended: later votes could not be added",
            )
        return period

    def _find_whole(self, span: Span) -> Period | None:
        """Find the period of the ledger, if days are all of it, or all of a shorter period that makes it up."""
        for kind in Every:
            whole = Period.of(span.since, kind)
            if kind.makes_up(self.every) and (whole.first, whole.last) == (span.since, span.until):
                return Period.of(span.since, self.every)
        return None
