"""Auto: look privately which mechanism suits the data, then run it."""
