"""The source of randomness, and exact draws from it."""
