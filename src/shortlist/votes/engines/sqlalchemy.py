"""Votes in any other database that SQLAlchemy knows: rows are read one by one."""

from __future__ import annotations

from collections.abc import Generator

from shortlist.votes.engines.rows import RowsTable
from shortlist.votes.engines.table import Batch
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.sql import strip_query

_BATCH = 1 << 14


class SqlalchemyTable(RowsTable):
    """The answer to a query of an engine."""

    def read_batches(self, choose: Choose) -> Generator[Batch, None, None]:
        """The chosen columns in batches of Python values."""
        with self._given.database.connect() as connection:
            streaming = connection.execution_options(stream_results=True)
            result = streaming.exec_driver_sql(strip_query(self._given.sql))
            names = list(result.keys())
            places = [names.index(each) for each in choose(Header(columns=names, origin=Origin.ANSWER))]
            for rows in result.partitions(_BATCH):
                yield tuple([row[place] for row in rows] for place in places)
