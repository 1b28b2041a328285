"""The trainer: budget, recipe, sampling order, exact resume."""
