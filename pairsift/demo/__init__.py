"""The demo pool: procedurally generated images and captions with planted noise, and scale models trained on them."""
