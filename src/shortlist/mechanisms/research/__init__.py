"""Published mechanisms in floating point, for experiments only. They refuse to make a secure release."""
