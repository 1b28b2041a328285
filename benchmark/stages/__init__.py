"""The stages that tasks share: score and select, open the subset, train, evaluate."""
