"""Counts as an array in memory."""
