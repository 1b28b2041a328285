"""What a run leaves: a typed JSON, and what trackers are told."""
