"""A release and its record: what may be published, how it is written and read, and whether it fits together."""
