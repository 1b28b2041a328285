"""A sample's fields as its files give them: which column holds what, and whether the value can be used."""

from collections.abc import Container, Mapping

from benchmark.core import batch
from benchmark.core.batch import SampleError
from benchmark.core.uids import is_uid, make_uid


def pick_column(ours: str, columns: Mapping[str, str], present: Container[str]) -> str | None:
    """Return what the file calls our column `ours`: by the pool's map, by our name, or by img2dataset's."""
    img2dataset = {"text": "caption"}.get(ours, ours)
    for name in (columns.get(ours, ours), ours, img2dataset):
        if name in present:
            return name
    return None


def check_caption(value: object) -> str:
    """Return a caption as text. Raises `SampleError` if it is missing, empty or no UTF-8."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise SampleError(batch.CAPTION_INVALID_UTF8) from None
    if not isinstance(value, str):
        raise SampleError(batch.CAPTION_MISSING)
    if not value.isascii() and any(
        "\ud800" <= c <= "\udfff" for c in value
    ):  # JSON can carry lone surrogates
        raise SampleError(batch.CAPTION_INVALID_UTF8)
    if not value.strip():
        raise SampleError(batch.CAPTION_EMPTY)
    return value


def check_uid(uid: object, url: object, caption: str) -> str:
    """Return the sample's uid; one that came without gets the hash of its url and caption."""
    if uid is None:
        return make_uid(str(url or ""), caption)
    if not is_uid(uid):
        raise SampleError(batch.METADATA_INVALID)
    return str(uid).lower()
