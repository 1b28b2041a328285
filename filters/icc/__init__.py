"""ICC (Image Caption Concreteness): the distilled scorer."""
