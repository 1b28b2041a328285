"""Other studies of the papers: concreteness, text in images, caption augmentation, topics."""
