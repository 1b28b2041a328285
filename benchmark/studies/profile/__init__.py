"""``task=profile``: how much of a pool is text in images, and what it does to CLIP scores (Lin et al. 2023)."""
