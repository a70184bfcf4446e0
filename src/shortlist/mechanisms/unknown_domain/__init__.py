"""Mechanisms without a public list of items: limited-domain, threshold and stable."""
