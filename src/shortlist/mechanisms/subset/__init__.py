"""Subset: one draw of a whole set of items, without their order."""
