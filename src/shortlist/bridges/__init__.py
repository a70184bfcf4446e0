"""Bridges to other libraries, each imported by its name: `shortlist.bridges.opendp`."""
