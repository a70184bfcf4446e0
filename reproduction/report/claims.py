"""The claims of the paper's evaluation, as claims.md states them, and the verdict on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.experiment.store import Results
from reproduction.report import judges
from reproduction.report.comparisons import SIDES, Holding, Judgement, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper in its own words, the rule by which it is judged, and the judge."""

    place: str
    text: str
    rule: str
    judge: Callable[[Results, Side], Judgement]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim with its judgement on each side, by the title of the side."""

    claim: Claim
    judgements: dict[str, Judgement]


_LINES = (Path(__file__).parents[1] / "claims.md").read_text(encoding="utf-8").splitlines()
_ROWS = [line.strip("| ").split(" | ") for line in _LINES if line.startswith("| `")]
CLAIMS = [
    Claim(place=place, text=text, rule=rule, judge=getattr(judges, judge.strip("`")))
    for judge, place, text, rule in _ROWS
]


def judge_claims(results: Results) -> list[Finding]:
    """Judge every claim on the released programs, where they were run, and on those implemented here."""
    programs = {cell.contender for cell in (*results.times, *results.errors)}
    sides = [side for side in SIDES if programs & {*side.times.values()}]
    return [
        Finding(claim=claim, judgements={side.title: claim.judge(results, side) for side in sides}) for claim in CLAIMS
    ]


def count_verdicts(findings: Sequence[Finding]) -> dict[str, dict[Holding, int]]:
    """How many claims got each verdict, by the title of each side on which they were judged."""
    found = {side: [each.judgements[side].holding for each in findings] for side in findings[0].judgements}
    return {side: {holding: held.count(holding) for holding in Holding} for side, held in found.items()}


def write_verdict(findings: Sequence[Finding]) -> str:
    """The tally, and a section for each claim, in Markdown."""
    lines = []
    for side, counts in count_verdicts(findings).items():
        lines.append(f"- {side}: {', '.join(f'{count} {holding}' for holding, count in counts.items() if count)}")
    for number, each in enumerate(findings, 1):
        lines += ["", f"## Claim {number} ({each.claim.place})", "", f"“{each.claim.text}”", ""]
        lines.append(f"- *rule:* {each.claim.rule}")
        lines += [f"- *{side}:* **{found.holding}**; {found.measured}" for side, found in each.judgements.items()]
    return "\n".join(lines) + "\n"
