"""Text in images: found and read once for a whole pool, shared by every filter that asks for it."""
