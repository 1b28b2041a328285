"""What the papers measure beside the benchmark: concreteness, text in images, captions, topics."""
