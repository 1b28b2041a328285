"""Scripts that train the scale models of `benchmark/demo/models`: one file per model, one shared training loop."""
