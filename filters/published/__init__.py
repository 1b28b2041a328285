"""Scores and selections that others have published, by name."""
