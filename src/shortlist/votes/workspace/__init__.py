"""The library's own DuckDB: its folder, its interruption, and errors in our words."""
