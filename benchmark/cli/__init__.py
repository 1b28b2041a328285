"""What a user types: overrides, sweeps and their checks."""
