"""The one trainer: budget, recipe, order of samples, exact resume."""
