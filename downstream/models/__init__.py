"""The models that are trained: captioner, dual encoder, vision backbone."""
