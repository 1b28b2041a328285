"""Metrics as pure functions of captions or of similarity matrices."""
