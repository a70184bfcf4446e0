"""Peels: k rounds, each of which takes one item of those that are left."""
