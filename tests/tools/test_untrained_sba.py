import numpy as np
import pytest

from tools.demo_world.untrained_sba import standardised_by_length, untrained_sba


def made_captions(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{w}" for w in rng.integers(0, 300, 8)) for _ in range(count)]


def test_a_caption_with_a_near_copy_survives() -> None:
    others = made_captions(400, 0)
    copied = others[7].upper()[:-1] + "x"  # the same but for its last character
    found = untrained_sba([copied, "qq rr ss tt uu vv ww xx"], others)
    assert found[0] == pytest.approx(1 - 1 / len(copied))
    assert found[1] < 0.5


def test_a_caption_is_not_its_own_neighbour() -> None:
    others = made_captions(400, 0)
    assert untrained_sba(others[:20], others).max() < 0.9


def test_standardised_values_compare_captions_of_one_length() -> None:
    lengths = [3] * 10 + [40] * 6 + [25] * 4 + [1, 2]
    values = np.array([0.0, 2.0] * 5 + [5.0] * 9 + [9.0] + [1.0, 3.0])
    found = standardised_by_length(values, lengths)
    assert found[:10].tolist() == [-1, 1] * 5
    assert found[10:19] == pytest.approx(-0.4 / 1.2)  # 25 words and more are one group of mean 5.4
    assert found[19] == pytest.approx(3.6 / 1.2)
    assert found[20:].tolist() == [-1, 1]  # rare lengths are one group
    assert standardised_by_length(np.full(12, 0.5), [4] * 12).tolist() == [0] * 12
