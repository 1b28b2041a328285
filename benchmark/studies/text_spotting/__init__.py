"""Text-spotting benchmark: how similar a CLIP finds a rendered word and the word (Lin et al. 2023, section 5.2)."""
