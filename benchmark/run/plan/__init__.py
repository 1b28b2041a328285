"""``plan=true``: the jobs of a command, what of them is in the cache, and what the rest will cost."""
