"""``task=augment``: further captions of the selected pairs, for training to draw from (DS-CLIP, appendix A)."""
