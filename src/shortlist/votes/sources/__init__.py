"""Where votes and domains come from."""
