"""Evaluation sets, and how a trained model is judged on them."""
