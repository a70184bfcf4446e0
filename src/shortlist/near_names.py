"""The parameter that a user meant by a name that no parameter has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from shortlist.errors import ParameterError

_OTHER_NAMES = {
    "bits": ("generator", "random", "random_state", "randomness", "rng", "seed"),
    "count": ("counts", "votes"),
    "counts_epsilon": ("counts", "noisy_counts", "with_counts"),
    "database": ("connection", "db", "engine", "url"),
    "delimiter": ("sep", "separator"),
    "delta": ("tolerance",),
    "domain": ("candidates", "catalog", "catalogue", "choices", "items", "universe"),
    "draws": ("repetitions", "samples", "trials"),
    "epsilon": ("budget", "e", "eps", "privacy", "privacy_budget"),
    "force": ("exist_ok", "overwrite", "replace"),
    "max_weight": ("clip", "largest_weight", "weight_cap", "weight_limit", "weight_max"),
    "groups_per_person": ("groups_contributed", "max_groups", "max_partitions_contributed"),
    "item": ("column", "items", "target"),
    "items": ("d", "domain", "domain_size"),
    "k": ("count", "limit", "n", "num", "number", "size", "top", "top_k", "topk"),
    "label": ("labels",),
    "mechanism": ("algorithm", "law", "mechanisms", "method"),
    "neighbours": ("adjacency", "neighbor", "neighboring", "neighbors", "neighbour", "neighbouring", "relation"),
    "people": ("persons", "population", "users"),
    "person": ("column", "persons", "user", "user_id", "users", "voter"),
    "sql": ("query", "statement"),
    "trials": ("draws", "n", "samples"),
    "votes_per_person": ("cap", "max_contributions", "max_votes"),
    "weight": ("value", "values", "weights"),
    "want": ("goal", "target", "wish"),
}

_OTHER_WAYS = {
    "unordered": "pass `ordered=False`",
    **dict.fromkeys(("delimiter", "encoding", "header"), "pass the table as shortlist.Files, which takes it"),
    **dict.fromkeys(("ledger", "note", "once", "period"), "use prepare(...).release(), which takes it"),
}
"""What to write in place of an option of the command line, or of another function."""

_NEAR = 0.7
"""How alike two names must be, by difflib."""
PARAMETERS: dict[str, None] = {}
"""The parameters of all functions that `show_options` shows. They pass unknown names on: one of these may be meant."""


def find_meant(name: str, known: Iterable[str]) -> list[str]:
    """Find all parameters of which a name is a common other name.

    >>> find_meant("items", ["epsilon", "item", "domain"])
    ['item', 'domain']
    """
    return [each for each in known if name in _OTHER_NAMES.get(each, ())]


def find_near(name: str, known: Iterable[str]) -> list[str]:
    """Find the parameters that a name probably means: by its meaning, else by its letters, else by its first words.

    >>> known = ["note", "votes_per_person", "groups_per_person"]
    >>> find_near("cap", known), find_near("vote_per_person", known), find_near("vots", known)
    (['votes_per_person'], ['votes_per_person'], ['votes_per_person'])
    """
    import difflib

    names, length = list(known), name.count("_") + 1
    found = find_meant(name, names) or difflib.get_close_matches(name.lower(), names, n=1, cutoff=_NEAR)
    starts = {each: "_".join(each.split("_")[:length]) for each in names}
    near = difflib.get_close_matches(name.lower(), starts.values(), n=1, cutoff=_NEAR)
    return found or [each for each, start in starts.items() if start in near]


def show_options(function: Callable[..., Any], options: type, **defaults: object) -> None:
    """Show a function with options that are named and typed by a TypedDict, in place of `**options`.

    `*wrong`, which only answers mistakes, is left out. An option without another default is None, and a
    default that is `inspect.Parameter.empty` makes a parameter mandatory.

    >>> from typing import TypedDict
    >>> class Options(TypedDict, total=False):
    ...     delta: float
    >>> def find(*wrong, epsilon, **options): ...
    >>> show_options(find, Options)
    >>> list(inspect.signature(find).parameters)
    ['epsilon', 'delta']
    """
    shown = inspect.signature(function)
    catch_alls = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    listed = {name: each for name, each in shown.parameters.items() if each.kind not in catch_alls}
    for name, kind in options.__annotations__.items():
        # Annotations that are texts have become references.
        annotation = getattr(kind, "__forward_arg__", kind)
        option = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        listed.setdefault(name, option)
    PARAMETERS.update(dict.fromkeys((*options.__annotations__, *listed)))
    parameters = [each.replace(default=defaults.get(name, each.default)) for name, each in listed.items()]
    function.__signature__ = shown.replace(parameters=parameters)  # type: ignore[attr-defined]


def describe_unknown(
    name: str,
    title: str,
    known: Iterable[str],
    *,
    further: Iterable[str] = (),
    elsewhere: bool = False,
    hint: str | None = None,
) -> ParameterError:
    """Make the error for a parameter that a function, a class or a mechanism does not take.

    `further` names may have been meant, too. A parameter that other mechanisms take is known `elsewhere`.

    >>> print(describe_unknown("eps", "joint", ["k", "epsilon"]))
    joint takes k, epsilon; it has no parameter 'eps'.
    Hint: did you mean epsilon?
    """
    near = find_near(name, [each for each in (*known, *further) if each != name])
    hint = hint or _OTHER_WAYS.get(name)
    if hint is None and near:
        hint = f"did you mean `{near[0]}`?"
    return ParameterError(
        f"{title} takes " + ", ".join(f"`{each}`" for each in known),
        f"it does not take `{name}`" if elsewhere else f"it has no parameter {name!r}",
        hint=hint,
    )
