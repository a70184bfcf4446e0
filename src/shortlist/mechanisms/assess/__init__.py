"""Assess: a private estimate of how wrong a list is on the data at hand."""
