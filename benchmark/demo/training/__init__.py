"""Scripts that train the scale models of `benchmark/demo/models`: one file a model, one loop for all."""
