"""AVA-Captions: topics of captions as soft labels, a vision backbone trained on them, and an LSTM captioner."""
