"""Captions that describe a scene: as annotators write them, and as alt texts."""
