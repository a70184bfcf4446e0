"""The claims of the paper's evaluation, each beside what was measured here."""

from __future__ import annotations

from shortlist.paper.experiment.results import Results
from shortlist.paper.report.verdict import accuracy, speed
from shortlist.paper.report.verdict.finding import FEWEST, Finding, Holding

__all__ = ["Finding", "Holding", "verdict"]


def verdict(results: Results) -> list[Finding]:
    """Judge every claim by the results, in the order in which the paper makes them."""
    results = Results(row for row in results.rows if row.failure is None and row.trials >= FEWEST)
    return [
        speed.fastjoint_beats_joint(results),
        speed.peeling_once_is_faster(results),
        speed.jumps_come_from_the_sequence_step(results),
        speed.pnf_peel_wins_on_small_data_only(results),
        accuracy.fastjoint_is_like_joint(results),
        accuracy.fastjoint_beats_pnf_peel(results),
        accuracy.fastjoint_beats_cdp_peel_where_gaps_are_wide(results),
        accuracy.games_is_where_it_does_not_shine(results),
        speed.time_falls_as_epsilon_grows(results),
        speed.beta_hardly_matters(results),
    ]
