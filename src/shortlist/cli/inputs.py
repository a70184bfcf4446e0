"""The votes and the domain that options describe: files, or queries on a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shortlist.cli.options import FileFormat
from shortlist.errors import ParameterError


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How files are to be read, if their names do not say so."""

    input_format: FileFormat | None
    encoding: str
    no_header: bool
    delimiter: str | None

    def apply(self, paths: list[str]) -> Any:
        """Describe files by these options."""
        from shortlist.votes.files.files import Files

        form = None if self.input_format is None else str(self.input_format)
        delimiter = "\t" if self.delimiter == "tab" else self.delimiter
        return Files(paths, format=form, encoding=self.encoding, header=not self.no_header, delimiter=delimiter)


def read_votes(files: list[str] | None, how: FileOptions, *, database: str | None, sql: str | None) -> Any:
    """The files of votes, or the query on a database."""
    if (database is None) != (sql is None):
        raise ParameterError("{database} and {sql} must come together: a database, and a query on it")
    if bool(files) == (database is not None):
        found = "both were" if files else "neither was"
        raise ParameterError("FILES or {database} must be given, and only one of them", found)
    if files:
        return how.apply(files)
    from shortlist.votes import Query

    return Query(database, str(sql))


def read_domain(domain: str | None, how: FileOptions, *, database: str | None, domain_sql: str | None) -> Any:
    """The file of the domain, or the query on a database; None if there is neither."""
    if domain_sql is None:
        return None if domain is None else how.apply([domain])
    if database is None:
        raise ParameterError("{domain_sql} must come with {database}, the database that it queries")
    if domain is not None:
        raise ParameterError("{domain} or {domain_sql} must be given, and only one of them", "both were")
    from shortlist.votes import Query

    return Query(database, domain_sql)
