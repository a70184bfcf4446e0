"""A plan as plain values, as CSV, as a table for notebooks, and the command that makes the release, ready to paste."""

from __future__ import annotations

import csv
import io
import json
import shlex
from html import escape
from typing import TYPE_CHECKING, Any

from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.mechanisms.accuracy import write_votes
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import read_rational, write_exact, write_rounded_up

if TYPE_CHECKING:
    from shortlist.planning.plan import Plan

NOT_PRIVATE = (
    "A plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or "
    "invented, and do not publish a plan that was made on private counts."
)
INVENTED = "These counts are invented, so this plan gives nothing away. Never publish a plan made on private counts."
VOTES, CATALOGUE, PERSON, ITEM = "votes.csv", "catalogue.csv", "person", "item"
"""What files and columns are called where nobody has said it."""


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


def write_command(mechanism: Mechanism, *, votes_per_person: int | None = None, item: str | None = None) -> str:
    """Write the command of the shell that releases a list by a mechanism, from a table of votes and a catalogue.

    A limit on votes per person is a limit on the votes that are counted, whatever the mechanism.

    >>> from shortlist.mechanisms import CDPPeel
    >>> print(write_command(CDPPeel(k=50, epsilon=1, delta="1e-6"), item="track"))
    shortlist select votes.csv --person person --item track --domain catalogue.csv -k 50 --epsilon 1
        --mechanism cdp-peel --delta 1e-6 --output top50.json
    """
    parameters = mechanism.parameters
    column = ITEM if item is None else item
    words = ["shortlist", "select", VOTES, "--person", PERSON, "--item", column]
    words += ["--domain", CATALOGUE] if mechanism.needs_domain else []
    words += ["-k", str(mechanism.k), "--epsilon", write_exact(mechanism.epsilon)]
    if mechanism.name != DEFAULT_MECHANISM:
        words += ["--mechanism", mechanism.name]
    elif mechanism.unordered:
        words.append("--unordered")
    if "delta" in parameters:
        words += ["--delta", _write_delta(parameters["delta"])]
    if votes_per_person is not None:
        words += ["--votes-per-person", str(votes_per_person)]
    if mechanism.neighbours is not Neighbours.ADD_REMOVE:
        words += ["--neighbours", str(mechanism.neighbours)]
    return shlex.join([*words, "--output", f"top{mechanism.k}.json"])


def explain_limit(votes_per_person: int | None) -> str | None:
    """Say what a limit in a command means for the votes; None without a limit.

    >>> explain_limit(3)
    'This counts at most 3 votes of each person. If many people cast more, their other votes are not counted.'
    """
    if votes_per_person is None:
        return None
    counted = f"This counts at most {write_votes(votes_per_person)} of each person."
    return f"{counted} If many people cast more, their other votes are not counted."


def write_call(mechanism: Mechanism, *, votes_per_person: int | None = None) -> str:
    """Write the call of Python that chooses a list by a mechanism, from counts.

    >>> from shortlist.mechanisms import PNFPeel
    >>> write_call(PNFPeel(k=50, epsilon="0.5"))
    "shortlist.top_k(new_counts, k=50, epsilon='0.5', mechanism='pnf-peel')"
    """
    parameters = mechanism.parameters
    written: dict[str, object] = {"k": mechanism.k, "epsilon": write_exact(mechanism.epsilon)}
    written["mechanism"] = mechanism.name
    if "delta" in parameters:
        written["delta"] = _write_delta(parameters["delta"])
    if votes_per_person is not None:
        written["votes_per_person"] = votes_per_person
    if parameters.get("ordered") is False:
        written["ordered"] = False
    if mechanism.neighbours is not Neighbours.ADD_REMOVE:
        written["neighbours"] = str(mechanism.neighbours)
    return f"shortlist.top_k(new_counts, {', '.join(f'{name}={value!r}' for name, value in written.items())})"


def _write_delta(delta: Any) -> str:
    """Write a delta without loss, as 1e-6 if that is the same number."""
    short = write_rounded_up(delta)
    return short if read_rational(short, name="delta") == delta else write_exact(delta)
