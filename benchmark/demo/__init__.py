"""The demo pool: a procedural world of scenes and captions, its noise, and scale models trained on it."""
