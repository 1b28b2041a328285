"""``task=augment``: additional captions for the selected pairs, as training data (DS-CLIP, appendix A)."""
