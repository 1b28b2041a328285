"""Notes on evaluation images among the kept pairs, below the tables of a leaderboard."""

from collections.abc import Iterable

from benchmark.results.report.leaderboard_entries import Entry


def contamination_notes(entries: Iterable[Entry]) -> list[str]:
    """Return which filters keep pairs with an evaluation image; one note if none does; nothing if unchecked."""
    counted = [(entry, entry.runs[0].contamination) for entry in entries if entry.runs[0].contamination]
    if not counted:
        return []
    notes = [
        f"Evaluation images: {entry.label} keeps {found.kept:,} pairs with the bytes of an image of {name}{near}."
        for entry, of_sets in counted
        for name, found in of_sets.items()
        if (near := f", and {found.near_kept:,} near one" if found.near_kept else "") or found.kept
    ]
    everywhere = all(found.near_kept is not None for _, of_sets in counted for found in of_sets.values())
    near = (
        "by bytes and by CLIP embeddings" if everywhere else "by bytes; near-duplicates were not looked for"
    )
    return notes or [f"Evaluation images: no kept pair has one ({near})."]
