"""Concreteness benchmarks: how well a filter's scores follow human ratings of words and captions."""
