"""Leaderboards, figures and pages made of results."""
