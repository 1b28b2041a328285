"""The typed result of a run, and the trackers that it is logged to."""
