"""The votes and the domain that options describe: files, or queries on a database."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from shortlist.cli import options
from shortlist.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The options that commands share to name the votes and the domain."""

    files: options.Files = None
    domain: options.Domain = None
    domain_column: options.DomainColumn = None
    database: options.Database = None
    sql: options.Sql = None
    domain_sql: options.DomainSql = None
    input_format: options.InputFormat = None
    encoding: options.Encoding = "utf-8"
    no_header: options.NoHeader = False
    delimiter: options.Delimiter = None
    domain_format: options.DomainFormat = None
    domain_encoding: options.DomainEncoding = "utf-8"
    domain_no_header: options.DomainNoHeader = False
    domain_delimiter: options.DomainDelimiter = None
    memory_limit: options.MemoryLimit = None

    @property
    def has_domain(self) -> bool:
        """Whether a domain is named."""
        return self.domain is not None or self.domain_sql is not None

    def read_votes(self) -> Any:
        """Describe the files of votes, or the query on a database."""
        if (self.database is None) != (self.sql is None):
            raise ParameterError("{database} and {sql} must come together: a database, and a query on it")
        if bool(self.files) == (self.database is not None):
            found = "both were" if self.files else "neither was"
            raise ParameterError("FILES or {database} must be given, and only one of them", found)
        if self.files:
            return describe_files(self.files, self.input_format, self.encoding, self.no_header, self.delimiter)
        from shortlist.votes import Query

        return Query(self.database, str(self.sql))

    def read_domain(self) -> Any:
        """Describe the file of the domain, or the query on a database. Return None if neither is given."""
        if self.domain_sql is None:
            how = self.domain_format, self.domain_encoding, self.domain_no_header, self.domain_delimiter
            return None if self.domain is None else describe_files([self.domain], *how)
        if self.database is None:
            raise ParameterError("{domain_sql} must come with {database}, the database that it queries")
        if self.domain is not None:
            raise ParameterError("{domain} or {domain_sql} must be given, and only one of them", "both were")
        from shortlist.votes import Query

        return Query(self.database, self.domain_sql)


def take_source(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Source` in place of its parameter `source`."""
    hints = get_type_hints(command, include_extras=True)
    shared = get_type_hints(Source, include_extras=True)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        source = Source(**{name: given.pop(name) for name in shared})
        command(source=source, **given)

    parameters = []
    for name, each in inspect.signature(command).parameters.items():
        if name == "source":
            parameters += [_make_option(field.name, field.default, shared[field.name]) for field in fields(Source)]
        else:
            parameters.append(_make_option(name, each.default, hints[name]))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _make_option(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def describe_files(
    paths: list[str], form: options.FileFormat | None, encoding: str, no_header: bool, delimiter: str | None
) -> Any:
    """Describe files by how they are to be read, if their names do not say so."""
    from shortlist.votes.files import Files

    return Files(
        paths,
        format=None if form is None else str(form),
        encoding=encoding,
        header=not no_header,
        delimiter="\t" if delimiter == "tab" else delimiter,
    )
