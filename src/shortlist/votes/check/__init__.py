"""A check of votes for the data owner; its answer is not private."""
