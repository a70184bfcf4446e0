"""A plan as plain values, as CSV, and as a table for notebooks."""

from __future__ import annotations

import csv
import io
import json
from html import escape
from typing import TYPE_CHECKING, Any

from shortlist.planning.commands import explain_limit
from shortlist.privacy.numbers import write_exact

if TYPE_CHECKING:
    from shortlist.planning.plan import Plan

NOT_PRIVATE = (
    "A plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or "
    "invented, and do not publish a plan that was made on private counts."
)
INVENTED = "These counts are invented, so this plan gives nothing away. Never publish a plan made on private counts."


def describe_plan(plan: Plan) -> dict[str, Any]:
    """Describe a plan by values that JSON can hold."""
    best, constraints = plan.best, plan.constraints
    return {
        "schema": "shortlist.plan/1",
        "private": False,
        "source": plan.histogram.source,
        "items": plan.histogram.d,
        "k": best.k,
        "epsilon": write_exact(best.epsilon),
        "delta": None if constraints.delta is None else write_exact(constraints.delta),
        "votes_per_person": constraints.votes_per_person,
        "ordered": constraints.ordered,
        "neighbours": constraints.neighbours,
        "domain": not constraints.without_domain,
        "best": best.name,
        "why": plan.why,
        "command": plan.command,
        "wish_command": plan.wish_command,
        "budget": str(plan.budget.guarantee),
        "table": plan.table,
        "want": None if plan.wish is None else str(plan.wish),
        "smallest_epsilon": {
            name: None if each.epsilon is None else write_exact(each.epsilon) for name, each in plan.answers.items()
        },
    }


def write_csv(plan: Plan) -> str:
    """Write the table of a plan as CSV text."""
    text = io.StringIO()
    rows = [{**row, "chosen": "" if row["chosen"] is None else json.dumps(row["chosen"])} for row in plan.table]
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_notebook(plan: Plan) -> str:
    """Write the advice, the table and the command of a plan as HTML, for notebooks."""
    heads = (
        "mechanism",
        "recall",
        "exact list",
        "largest error",
        "total error",
        "public bound",
        "guarantee",
        "releases",
    )
    rows = "".join(
        f"<tr><td>{escape(each.label)}</td><td>{each.recall.mean:.3f}</td>"
        f"<td>{'' if each.exact_is_computed else '≈ '}{each.exact:.3f}</td>"
        f"<td>{each.largest.middle:,.0f}</td><td>{each.total.middle:,.0f}</td>"
        f"<td>{'–' if each.bound is None else f'{each.bound:,}'}</td>"
        f"<td>{escape(each.promise)}</td><td>{each.affordable:,}</td></tr>"
        for each in plan.forecasts
    )
    head = "".join(f"<th>{each}</th>" for each in heads)
    wish = "" if plan.wish_command is None else f"<p>For your wish:</p><pre>{escape(plan.wish_command)}</pre>"
    note = explain_limit(plan.constraints.votes_per_person)
    limit = "" if note is None else f"<p>{escape(note)}</p>"
    warning = INVENTED if plan.histogram.invented else NOT_PRIVATE
    return (
        f"<p>{escape(plan.why)}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<pre>{escape(plan.command)}</pre>{wish}{limit}<p><strong>{escape(warning)}</strong></p>"
    )
