"""Captions made of phrases side by side: titles, products, events, people and web strings; and names."""
