"""Scripts that train the scale models of `pairsift/demo/models`: one file per model, one shared training loop."""
