"""Text in images: detected and read once per pool, shared by all filters that use it."""
