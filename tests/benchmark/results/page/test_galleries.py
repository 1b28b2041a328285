import base64

from benchmark.results.page.galleries import Images


def test_each_thumbnail_is_there_once() -> None:
    images = Images([b"one", b"two", b"one", b""])
    assert [base64.b64decode(text) for text in images.encoded.values()] == [b"one", b"two"]
    assert images.encoded[images.name(b"two")] == base64.b64encode(b"two").decode()
    assert images.name(b"") == images.name(b"three") == ""


def test_what_exceeds_the_budget_is_counted() -> None:
    images = Images([b"a" * 300, b"b" * 300, b"b" * 300, b"c" * 3], budget=404)
    assert [len(text) for text in images.encoded.values()] == [400, 4]
    assert images.left_out == 1
