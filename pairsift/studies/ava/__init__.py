"""``task=weak_labels``: topics of captions as soft labels, on which a vision backbone can be trained."""
