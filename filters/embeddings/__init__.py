"""Image embeddings of a whole pool, and their clusters."""
