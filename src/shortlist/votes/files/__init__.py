"""Files of votes or items: where they are, and how DuckDB opens them."""
