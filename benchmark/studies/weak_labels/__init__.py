"""Captions turned into soft labels of topics, from which a vision backbone can learn."""
