"""How much of a caption is read by filters, trained models and metrics."""

# A tokenizer may take time that grows with the square of a word's length, and a caption may be a megabyte.
MAX_CHARACTERS = 4_096


def model_text(caption: str) -> str:
    """Return what models read of a caption: its first `MAX_CHARACTERS` characters."""
    return caption[:MAX_CHARACTERS]
