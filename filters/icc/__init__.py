"""ICC (Image Caption Concreteness): the distilled scorer, its pipelines SBA and VBA, and their distillation."""
