"""Downstream models, the trainer they share, evaluation sets and metrics."""
