"""The domain, and which values of votes match its items."""
