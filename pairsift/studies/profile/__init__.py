"""Profile of a pool: text in its images and its effect on CLIP scores (Lin et al. 2023)."""
