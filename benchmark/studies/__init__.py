"""Studies of the papers beside the benchmark: concreteness, text in images, caption augmentation, topics."""
