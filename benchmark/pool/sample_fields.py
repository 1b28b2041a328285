"""The fields of a sample as its files name them, and whether their values can be used."""

from collections.abc import Container, Mapping

from benchmark.core import batch
from benchmark.core.batch import SampleError
from benchmark.core.uids import is_uid, make_uid

# Other names of our columns: img2dataset's, those of LAION's parquet files, and those of CC3M and CC12M on the hub.
ALIASES = {
    "text": ("caption", "TEXT"),
    "url": ("URL", "image_url"),
    "nsfw": ("NSFW",),
    "clip_b32_similarity_score": ("similarity",),
    "original_width": ("WIDTH",),
    "original_height": ("HEIGHT",),
}


def known_names(ours: str) -> tuple[str, ...]:
    """Return the names under which our column is found without a setting."""
    return (ours, *ALIASES.get(ours, ()))


def pick_column(ours: str, columns: Mapping[str, str], present: Container[str]) -> str | None:
    """Return the file's name of our column: by the pool's map, our own, or one of `ALIASES`; None if absent."""
    if (mapped := columns.get(ours, ours)) in present:
        return mapped
    for name in known_names(ours):  # not a generator: this is done for each field of each sample
        if name in present:
            return name
    return None


def check_caption(value: object) -> str:
    """Return a caption as text. Raises `SampleError` if it is missing, empty or not valid UTF-8."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise SampleError(batch.CAPTION_INVALID_UTF8) from None
    if not isinstance(value, str):
        raise SampleError(batch.CAPTION_MISSING)
    # JSON can carry lone surrogates.
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise SampleError(batch.CAPTION_INVALID_UTF8)
    if not value.strip():
        raise SampleError(batch.CAPTION_EMPTY)
    return value


def check_uid(uid: object, url: object, key: object, caption: str) -> str:
    """Return the sample's uid in hex; without one, the hash of its url and caption, or of its key and caption.

    Raises `SampleError` if the uid is malformed.
    """
    if uid is None:
        return make_uid(str(url or ("" if key is None else key)), caption)
    if not is_uid(uid):
        raise SampleError(batch.METADATA_INVALID)
    return str(uid).lower()
