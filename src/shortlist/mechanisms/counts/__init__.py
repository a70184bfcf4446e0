"""Noise on counts: the list of the largest noisy counts, and noisy counts of a list."""
