"""The selected samples: random access, their other captions, new tars."""
