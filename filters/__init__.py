"""Filters: each scores image-caption pairs, higher = keep; none decides."""
