"""The random world of the demo: its grammar, its mix of noise, and the writer of the files that the demo ships."""
