import pytest

from tools.demo_world.written_text import WrittenText, measure_written_text


def test_rates_are_over_images_with_text() -> None:
    pairs = [
        ("KEEP CALM", ["KEEP", "CALM now"]),  # 2 of 2 words
        ("a red ball ball", ["ball", "SALE"]),  # 1 of 3
        ("the sea", ["tha"]),  # none; fuzzy (2/3 + 1/3) / 2
        ("a photo", [""]),
        ("two dogs", []),
    ]
    found = measure_written_text(pairs)
    assert found.images_with_text == pytest.approx(3 / 5)
    assert found.exact == pytest.approx((1 + 1 / 3) / 3)
    assert found.above_zero == pytest.approx(2 / 3)
    assert found.fuzzy >= found.exact
    assert measure_written_text([("a dog", [])]) == WrittenText(0.0, 0.0, 0.0, 0.0)
