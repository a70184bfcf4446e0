"""The two ways in: from votes to a release, and from counts to a selector."""
