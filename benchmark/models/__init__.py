"""Models that several rooms load: checkpoints by name or path, CLIP, PACScore's CLIP, BERT matching."""
