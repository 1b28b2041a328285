"""Exactly k samples by their scores."""
