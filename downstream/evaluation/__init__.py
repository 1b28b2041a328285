"""Evaluation sets, and how a trained model is evaluated on them."""
