"""`shortlist select`: from votes in files or a database to a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.cli import options
from shortlist.cli.display import progress, remark
from shortlist.cli.options import Format
from shortlist.cli.output import check_output, print_release, write_release
from shortlist.errors import ParameterError

if TYPE_CHECKING:
    from shortlist.exact.bits import Bits

EXAMPLE = r"""shortlist select plays/*.parquet --person user_id --item track \
    --domain catalogue.csv -k 10 --epsilon 1 --output top10.json"""


def select(
    item: options.Item,
    k: options.K,
    epsilon: options.Epsilon,
    files: options.Files = None,
    person: options.Person = None,
    votes_per_person: options.VotesPerPerson = None,
    domain: options.Domain = None,
    output: options.Output = None,
    force: options.Force = False,
    printed: options.Printed = Format.TABLE,
    count: options.Count = None,
    sensitivity: options.Sensitivity = 1,
    domain_column: options.DomainColumn = None,
    database: options.Database = None,
    sql: options.Sql = None,
    domain_sql: options.DomainSql = None,
    memory_limit: options.MemoryLimit = None,
    mechanism: options.Mechanism = "joint",
    beta: options.Beta = None,
    delta: options.Delta = None,
    neighbours: options.Neighbours = "add-remove",
    unit: options.Unit = "person",
    quiet: options.Quiet = False,
    seed: options.Seed = None,
    insecure: options.Insecure = False,
) -> None:
    """Release the k most-voted items of a domain, best first.

    A person counts once for an item, however often the log repeats it. Rows without a person or an item, and votes
    for items outside the domain, are ignored.
    """
    bits = _bits(seed, insecure)
    check_output(output, force=force)
    with progress(quiet=quiet) as step:
        from shortlist.selection import select as select_from

        release = select_from(
            _votes(files, database, sql),
            person=person,
            votes_per_person=votes_per_person,
            item=item,
            count=count,
            sensitivity=sensitivity,
            domain=_domain(domain, database, domain_sql),
            domain_column=domain_column,
            memory_limit=memory_limit,
            k=k,
            epsilon=epsilon,
            mechanism=mechanism,
            neighbours=neighbours,
            unit=unit,
            bits=bits,
            progress=step,
            beta=beta,
            delta=delta,
        )
    if output is not None:
        write_release(release, output, force=force)
        remark(f"wrote {output}", quiet=quiet)
    print_release(release, printed)


def _votes(files: list[str] | None, database: str | None, sql: str | None) -> object:
    if (database is None) != (sql is None):
        raise ParameterError("{database} and {sql} must come together: a database, and a query on it")
    if bool(files) == (database is not None):
        found = "both were" if files else "neither was"
        raise ParameterError("FILES or {database} must be given, and only one of them", found)
    if database is None or sql is None:
        return files
    from shortlist.votes import Query

    return Query(database, sql)


def _domain(domain: str | None, database: str | None, domain_sql: str | None) -> object:
    if domain_sql is None:
        return domain
    if database is None:
        raise ParameterError("{domain_sql} must come with {database}, the database that it queries")
    if domain is not None:
        raise ParameterError("{domain} or {domain_sql} must be given, and only one of them", "both were")
    from shortlist.votes import Query

    return Query(database, domain_sql)


def _bits(seed: int | None, insecure: bool) -> Bits | None:
    """Repeatable bits, if both options ask for them; none for those of the operating system."""
    if seed is None and not insecure:
        return None
    if seed is None or not insecure:
        raise ParameterError(
            "--seed and --insecure go together: a release that can be repeated is not private.",
            hint="leave both out for a release to publish",
        )
    from shortlist.exact.bits import SeededBits

    return SeededBits(seed)
