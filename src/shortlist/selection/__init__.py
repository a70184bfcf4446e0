"""The two entry points: from votes to a release, and from counts to a selector."""
