"""Text-spotting benchmark: cosines between texts and images that show them (Lin et al. 2023, section 5.2)."""
