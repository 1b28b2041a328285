"""Building an ICC scorer from a set of captions: every step resumable, its output a folder with a manifest."""
