"""The demonstration: an invented log of plays, and what is said about its release."""
