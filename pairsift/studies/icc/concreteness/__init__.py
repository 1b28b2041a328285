"""Concreteness benchmarks: correlation of a filter's scores with human ratings of words and captions."""
