"""The pool: tars and parquet in, batches of samples out."""
