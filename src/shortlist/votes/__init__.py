"""Votes, wherever they are held, and their tally. Each file imports from those above it in this list.

`libraries`, `failures`          optional libraries; errors in our words
`values`, `matching`             which values are items and persons, how they are written, and which match
`queries`, `dialects`, `files`   queries as text, SQL that several engines answer, and files as users name them
`array_counts`, `source`         counts as an array; what every source of votes offers
`domain`, `groups`               the public lists of items and of groups
`duckdb`                         the library's own DuckDB, which counts files, Arrow and rows
`file_source`, `formats`         files of one table; those of each format
`rows`, `frames`, `postgres`     columns and rows in Python; Polars, Spark and Ibis; a server
`tallies`, `check`               the way in; the check of a data owner
"""
