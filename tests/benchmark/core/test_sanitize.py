import logging
import sys
import unicodedata
from math import inf

import pytest
from omegaconf import OmegaConf

from benchmark.core.progress import configure_logging
from benchmark.core.sanitize import redact, visible
from benchmark.run.config import recorded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:pa%20ss@host/a b", "https://***@host/a b"),
        ("see https://h/a/{0..1}.tar?X-Amz-Signature=ab&Expires=1 now", "see https://h/a/{0..1}.tar?*** now"),
        ("'s3://key:se@cret@bucket/x'", "'s3://***@bucket/x'"),
        ("s3://bucket/a@b/what?", "s3://bucket/a@b/what?"),
        ("/data/pool: is it me@home?", "/data/pool: is it me@home?"),
        ("http://u:pa/ss@h:80/x", "http://***@h:80/x"),
        ("http://h:80/a@b", "http://h:80/a@b"),
        ("http://h/a, http://u:p@h/b?c=d, e", "http://h/a, http://***@h/b?*** e"),
        ("at https://h/a;token=ab/c.tar?d#e now; or", "at https://h/a;*** now; or"),
        ("https://h/a.tar#token=ab", "https://h/a.tar#***"),
        ("az://box/a?sv=1&sig=ab%3D::az://box/b?sig=c", "az://box/a?***"),
        ("https://h/a; https://h/b", "https://h/a; https://h/b"),
        ("file:///data/c#/a;b?c, /data/c#/a", "file:///data/c#/a;b?c, /data/c#/a"),
    ],
)
def test_secrets_in_urls_are_hidden(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_what_trackers_and_manifests_record_has_no_credentials() -> None:
    cfg = OmegaConf.create(
        {"pool": {"url": "https://me:secret@host/pool"}, "files": ["s3://b/x?sig=1"], "norm": inf}
    )
    assert recorded(cfg) == {
        "pool": {"url": "https://***@host/pool"},
        "files": ["s3://b/x?***"],
        "norm": "inf",
    }


def test_the_log_has_no_credentials(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, root.handlers = root.handlers, []
    try:
        configure_logging()
        logging.getLogger("benchmark.x").warning("reading %s", "https://me:secret@host/pool?sig=123")
    finally:
        root.handlers = before
    assert capsys.readouterr().err.endswith(" reading https://***@host/pool?***\n")


def test_nothing_shown_is_obeyed_by_a_terminal() -> None:
    shown = visible("".join(map(chr, range(sys.maxunicode + 1))))
    assert not set(map(unicodedata.category, shown)) & {"Cc", "Cs"}
    assert visible(shown) == shown
