"""AVA-Captions' captioner: vocabulary, beam search, loss. See `tests/downstream/models/test_contract.py` too."""

import itertools
from pathlib import Path

import pytest
import torch

from benchmark.core.errors import UserError
from downstream.models.networks import CaptionCollate
from downstream.training.training_data import EmbeddedSample
from pairsift.studies.ava.lstm_captioner import make_tokenizer
from pairsift.studies.ava.lstm_network import CaptionLstm
from tests.downstream.conftest import checkpoints, eight_pairs
from tests.downstream.tiny_models import (
    CAPTIONS,
    SIZE,
    Checkpoints,
    MemorySubset,
    Recorder,
    built,
    draw,
    make,
    save_timm,
    six_steps,
)

__all__ = ["checkpoints", "eight_pairs"]
CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]
END, START, UNKNOWN = range(3)


def test_a_timm_folder_is_its_cnn_with_pooled_features(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    model, encoder = save_timm(tmp_path / "timm", "test_resnet"), str(tmp_path / "timm")
    captioner, again = (make("lstm_captioner", checkpoints, encoder=encoder) for _ in range(2))
    captioner.train(eight_pairs, tmp_path / "run", CPU, Recorder(), "f")
    pixels = torch.randn(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        pooled = model.global_pool(model.forward_features(pixels))
    assert torch.allclose(captioner.features(pixels), pooled, atol=1e-6)
    again.load(tmp_path / "run", CPU)
    loaded, untrained = again.cnn.state_dict(), built("lstm_captioner", checkpoints, encoder=encoder).cnn
    for name, tensor in untrained.state_dict().items():  # only the LSTM is trained
        assert torch.equal(tensor, captioner.cnn.state_dict()[name])
        assert torch.equal(tensor, loaded[name])
    # Not to the last bit on every processor, where the same weights may be at another alignment.
    assert torch.allclose(again.features(pixels), captioner.features(pixels), atol=1e-6)
    assert again.caption(IMAGES) == captioner.caption(IMAGES)


def test_rare_words_are_unknown_and_never_written() -> None:
    texts = ["A cat, a Dog [END]", "a cat\x85\u2028 cats [UNK]"]
    tokenizer = make_tokenizer(texts, 2)
    words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert words == ["[END]", "[START]", "[UNK]", "a", "[", "]", "cat"]
    assert tokenizer("the CAT [END]", add_special_tokens=False)["input_ids"] == [2, 6, 4, 2, 5]
    assert [len(make_tokenizer(texts, threshold)) for threshold in (1, 4)] == [12, 3]


def test_a_vocabulary_without_words_is_one_line(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    rare = make("lstm_captioner", checkpoints, word_threshold=9)
    with pytest.raises(UserError, match=r"no word occurs 9 times .*word_threshold$"):
        rare.train(eight_pairs, tmp_path, CPU, Recorder(), "f")


def test_settings_that_cannot_be_used_are_refused(checkpoints: Checkpoints) -> None:
    with pytest.raises(UserError, match="weak_encoder must be the folder that task=weak_backbone prints"):
        make("lstm_captioner", checkpoints, encoder=None)
    with pytest.raises(UserError, match="at random offsets; set training"):
        make("lstm_captioner", checkpoints, six_steps(source="stream"))


def test_the_vocabulary_has_other_captions_too(checkpoints: Checkpoints, tmp_path: Path) -> None:
    captioner = make("lstm_captioner", checkpoints, word_threshold=8)
    captioner.train(MemorySubset(CAPTIONS, others=("some thing", None)), tmp_path, CPU, Recorder(), "f")
    assert set(captioner.tokenizer.get_vocab()) >= {"square", "some", "thing"}
    assert "red" not in captioner.tokenizer.get_vocab()


def test_a_process_without_samples_has_no_loss() -> None:
    model = lstm(6, 0)
    total, words = model({})
    total.backward()
    assert (total.item(), words.item()) == (0, 0)
    assert all(parameter.grad is not None for parameter in model.parameters())


def lstm(words: int, seed: int) -> CaptionLstm:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = CaptionLstm(4, words, 8, 0.5).eval()
        for parameter in model.parameters():
            parameter.data *= 4  # less alike than new weights are
    return model


def log_probability(model: CaptionLstm, features: torch.Tensor, caption: list[int]) -> float:
    """The negative training loss of a caption."""
    ids = torch.tensor([[START, *caption[:-1]]])
    inputs = {"image_features": features[None], "decoder_input_ids": ids, "labels": torch.tensor([caption])}
    return -model(inputs)[0].item()


def captions_up_to(length: int, words: range) -> list[list[int]]:
    whole = [list(c) for c in itertools.product(words, repeat=length)]
    ended = [[*c, END] for n in range(length) for c in itertools.product(words, repeat=n)]
    return whole + ended


@pytest.mark.parametrize("seed", range(2))
@torch.inference_mode()
def test_a_wide_search_finds_the_most_probable_caption(seed: int) -> None:
    model, length, words = lstm(6, seed), 3, range(3, 6)
    images = torch.randn(3, 4, generator=torch.Generator().manual_seed(seed))
    written = model.search(images, 27, length, START, END, [START, UNKNOWN])
    candidates = captions_up_to(length, words)
    assert len(candidates) == 40
    for features, caption in zip(images, written.tolist(), strict=True):
        best = max(candidates, key=lambda candidate: log_probability(model, features, candidate))
        assert caption == [*best, *[END] * (length - len(best))]


def search_by_hand(model: CaptionLstm, features: torch.Tensor, beams: int, length: int) -> list[int]:
    """Keep the best `beams` continuations at each step; finished captions compete and are not continued."""
    live, finished = [list[int]()], []
    for position in range(length):
        longer = [[*caption, word] for caption in live for word in (END, 3, 4, 5)]
        longer = sorted(longer, key=lambda caption: -log_probability(model, features, caption))[:beams]
        done = [c for c in longer if c[-1] == END or position + 1 == length]
        live = [c for c in longer if c not in done]
        finished += done
    return max(finished, key=lambda caption: log_probability(model, features, caption))


@pytest.mark.parametrize("beams", [1, 2, 3])
@torch.inference_mode()
def test_a_narrow_search_is_the_one_by_hand(beams: int) -> None:
    different = 0
    for seed in range(6):
        model = lstm(6, seed)
        images = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))
        written = model.search(images, beams, 4, START, END, [START, UNKNOWN]).tolist()
        for features, caption in zip(images, written, strict=True):
            by_hand = search_by_hand(model, features, beams, 4)
            assert caption == [*by_hand, *[END] * (4 - len(by_hand))]
            different += by_hand != search_by_hand(model, features, 1, 4)
    assert bool(different) == (beams > 1), "the cases tell beams apart"


def test_the_loss_by_hand() -> None:
    model = lstm(6, 0)
    tokenizer = make_tokenizer(["x y z x y x"], 1)
    samples = [EmbeddedSample(text, torch.ones(4).numpy()) for text in ("x y", "z x y z x")]
    inputs = CaptionCollate(None, tokenizer, 4)(samples)
    assert inputs["decoder_input_ids"].tolist() == [[START, 3, 4, END], [START, 5, 3, 4]]
    assert inputs["labels"].tolist() == [[3, 4, END, -100], [5, 3, 4, 5]]  # a cut caption gets no end
    total, words = model(inputs)
    assert words == 7
    by_hand = sum(log_probability(model, torch.ones(4), caption) for caption in ([3, 4, END], [5, 3, 4, 5]))
    assert total.item() == pytest.approx(-by_hand, rel=1e-5)
