"""Auto: choose privately a mechanism that suits the data, then run it."""
