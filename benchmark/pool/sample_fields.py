"""The fields of a sample as its files name them, and whether their values can be used."""

from collections.abc import Container, Mapping

from benchmark.core import batch
from benchmark.core.batch import SampleError
from benchmark.core.uids import is_uid, make_uid


def pick_column(ours: str, columns: Mapping[str, str], present: Container[str]) -> str | None:
    """Return the file's name of our column: by the pool's map, our own or img2dataset's; None if absent."""
    img2dataset = {"text": "caption"}.get(ours, ours)
    for name in (columns.get(ours, ours), ours, img2dataset):
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


def check_uid(uid: object, url: object, caption: str) -> str:
    """Return the sample's uid in hex; without one, the hash of url and caption. Raises `SampleError` if malformed."""
    if uid is None:
        return make_uid(str(url or ""), caption)
    if not is_uid(uid):
        raise SampleError(batch.METADATA_INVALID)
    return str(uid).lower()
