"""The demonstration: an invented log of plays, and what one listener changes in its release."""
