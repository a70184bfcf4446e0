"""Data frames of any engine, through narwhals: one piece of code counts the votes on all of them."""

from __future__ import annotations

from typing import Any

from shortlist.errors import DataError, ParameterError
from shortlist.votes.border import optional, reading
from shortlist.votes.families import kind_of
from shortlist.votes.headers import Choose, Header
from shortlist.votes.source import Source

_ACCEPTED = "a pandas, Polars, PyArrow, DuckDB, PySpark or Ibis table, or paths of files"


def open_frame(native: Any, *, choose: Choose, name: str) -> Source:
    """Take a frame as it is, lazy or not, with the chosen columns."""
    nw = optional("narwhals.stable.v2")
    if not is_table(native):
        try:
            nw.from_native(native)
        except TypeError:
            raise ParameterError(f"{name} must be {_ACCEPTED}, not {type(native).__name__}.") from None
    with reading(name):
        return Source(frame=take_columns(native, choose), name=name)


def take_columns(given: Any, choose: Choose) -> Any:
    """Select the chosen columns, each of which must be there once."""
    nw, pa = optional("narwhals.stable.v2"), optional("pyarrow")
    native = nw.to_native(given, pass_through=True)
    # Where names are repeated, narwhals refuses the frame or knows each of them once.
    if isinstance(native, pa.Table):
        return nw.from_native(_decoded(native.select(choose(Header(columns=native.column_names)))))
    if nw.dependencies.is_pandas_dataframe(native):
        return nw.from_native(native[choose(Header(columns=list(native.columns)))])
    frame = nw.from_native(native)
    repeats = frame.implementation.is_duckdb() or frame.implementation.is_spark_like()
    columns = list(native.columns) if repeats else frame.collect_schema().names()
    return frame.select(*choose(Header(columns=columns)))


def is_table(given: Any) -> bool:
    """Whether something is a frame in memory whose names may be repeated."""
    nw, pa = optional("narwhals.stable.v2"), optional("pyarrow")
    native = nw.to_native(given, pass_through=True)
    return isinstance(native, pa.Table) or bool(nw.dependencies.is_pandas_dataframe(native))


def count_persons(source: Source, person: str, *, item: str) -> Any:
    """Count the different persons of each item, in the engine that holds them: columns `item` and `votes`.

    A person counts once for an item, however often the pair is there. Rows without a person or an item are ignored.
    """
    nw = optional("narwhals.stable.v2")
    _check_items(source, item)
    with reading(source.name):
        dtype = source.frame.collect_schema()[person]
        pairs = source.frame.select(nw.col(item).alias("item"), nw.col(person).alias("person")).drop_nulls()
        if dtype.is_float():
            pairs = pairs.filter(~nw.col("person").is_nan())
        if pairs.implementation.is_duckdb():
            # narwhals would also look for missing persons, which costs a quarter more.
            counted = pairs.to_native().aggregate("item, count(DISTINCT person) AS votes", "item")
            return nw.from_native(counted)
        counted = pairs.group_by("item").agg(nw.col("person").n_unique().alias("votes"))
        return settled(counted.select("item", "votes"), name=source.name)


def take_counts(source: Source, count: str, *, item: str) -> Any:
    """Take the votes of each item as they were counted elsewhere: columns `item` and `votes`."""
    nw = optional("narwhals.stable.v2")
    _check_items(source, item)
    with reading(source.name):
        counted = source.frame.select(nw.col(item).alias("item"), nw.col(count).alias("votes")).drop_nulls()
        counted = _whole(settled(counted, name=source.name))
        dtype = counted.collect_schema()["votes"]
    whole = dtype.is_integer() or (isinstance(dtype, nw.Decimal) and getattr(dtype, "scale", None) == 0)
    if not whole and not is_empty(counted):
        raise DataError(
            f"column {count!r} of {source.name} must hold whole numbers, not {type(dtype).__name__}.",
            hint="cast it to whole numbers; rows without a count are ignored",
        )
    return counted


def _check_items(source: Source, item: str) -> None:
    """Refuse lists and the like before an engine tries to group by them."""
    nw = optional("narwhals.stable.v2")
    with reading(source.name):
        dtype = source.frame.collect_schema()[item]
    if isinstance(dtype, nw.Object) and not isinstance(source.frame, nw.LazyFrame):
        dtype = settled(source.frame.select(item), name=source.name).collect_schema()[item]
    if dtype.is_nested():
        kind_of(dtype, what=f"the items of {source.name}")


def _whole(counted: Any) -> Any:
    """Take whole floats in memory for whole numbers: pandas makes floats of numbers with a gap among them."""
    nw, pa = optional("narwhals.stable.v2"), optional("pyarrow")
    if isinstance(counted, nw.LazyFrame) or not counted.collect_schema()["votes"].is_float():
        return counted
    table = counted.to_native()
    try:
        whole = table.column("votes").cast(pa.int64())
    except pa.ArrowInvalid:
        return counted
    return nw.from_native(table.set_column(1, "votes", whole))


def settled(frame: Any, *, name: str) -> Any:
    """Turn a frame in memory into Arrow, where every column has one type; leave a lazy one alone."""
    nw = optional("narwhals.stable.v2")
    if isinstance(frame, nw.LazyFrame):
        return frame
    with reading(name, hint="does the column of items hold values of more than one type?"):
        return nw.from_native(_plain(frame.to_arrow()))


def is_empty(frame: Any) -> bool:
    """Whether a frame is in memory and has no rows: then its types mean nothing."""
    return hasattr(frame, "shape") and frame.shape[0] == 0


def is_spark(frame: Any) -> bool:
    """Whether a narwhals frame lives in Spark."""
    return bool(frame.implementation.is_spark_like())


def arrow(frame: Any, *, name: str) -> Any:
    """Bring a frame over as Arrow: a stream of batches where the engine can, else a table."""
    pa = optional("pyarrow")
    nw = optional("narwhals.stable.v2")
    with reading(name):
        native, engine = frame.to_native(), frame.implementation
        if isinstance(frame, nw.DataFrame):
            return frame.to_arrow()
        if engine.is_duckdb():
            return pa.RecordBatchReader.from_stream(native)
        # Streaming keeps the groups, not the votes, in memory.
        options = {"engine": "streaming"} if engine.is_polars() else {"backend": "pyarrow"}
        return _plain(frame.collect(**options).to_arrow())


def _plain(table: Any) -> Any:
    """Store times by the microsecond, which Arrow refuses if they are finer, and bytes in the form all engines know."""
    pa = optional("pyarrow")
    decoded = _decoded(table)
    types = [
        pa.timestamp("us", field.type.tz)
        if pa.types.is_timestamp(field.type)
        else pa.binary()
        if field.type in (pa.large_binary(), pa.binary_view())
        else field.type
        for field in decoded.schema
    ]
    return _cast(decoded, types)


def _decoded(table: Any) -> Any:
    """Give columns the type of their values: a dictionary is a way to store them, and so is a fixed size of bytes."""
    pa = optional("pyarrow")
    values = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return _cast(table, [pa.binary() if pa.types.is_fixed_size_binary(each) else each for each in values])


def _cast(table: Any, types: list[Any]) -> Any:
    pa = optional("pyarrow")
    return table.cast(pa.schema([field.with_type(each) for field, each in zip(table.schema, types, strict=True)]))
