"""Shards of a pool through a filter into score parts; the features that filters share."""
