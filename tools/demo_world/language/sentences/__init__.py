"""Captions that describe nothing: opinions, instructions, quotes and news, from a recursive grammar."""
