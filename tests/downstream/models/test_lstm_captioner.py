"""AVA-Captions' captioner: its vocabulary, its beam search, what it learns, and what it saves."""

import itertools
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from timm.models import save_for_hf

from benchmark.core.errors import UserError
from downstream.models.lstm_captioner import LstmCaptioner, make_tokenizer
from downstream.models.lstm_network import CaptionLstm
from downstream.models.networks import CaptionCollate
from downstream.training.training_data import EmbeddedSample
from tests.downstream.tiny_models import (
    CAPTIONS,
    SIZE,
    Checkpoints,
    MemorySubset,
    Recorder,
    draw,
    six_steps,
)

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]
LEARNT = {"samples_seen": 2000, "lr": 1e-2}
END, START, UNKNOWN = range(3)


def make(encoder: str, **changes: Any) -> LstmCaptioner:
    given = {"width": 128, "dropout": 0.0, "word_threshold": 1, "max_words": 10, "beams": 2}
    given |= {"eval_batch_size": 5} | {name: changes.pop(name) for name in list(changes) if name in given}
    return LstmCaptioner(encoder, six_steps(**changes), **given)


@pytest.fixture(scope="session")
def trained(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    captioner, tracker, folder = make(checkpoints.swin, **LEARNT), Recorder(), tmp_path_factory.mktemp("lstm")
    report = captioner.train(eight_pairs, folder, CPU, tracker, "f")
    return captioner, folder, report, tracker


def weights(captioner: LstmCaptioner) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in captioner.model.state_dict().items()}


def test_overfits_eight_pairs(trained: Any) -> None:
    captioner, folder, report, tracker = trained
    assert report.final_loss < 0.1 < tracker.losses()[0]
    assert captioner.caption(IMAGES) == CAPTIONS
    assert sorted(path.name for path in folder.iterdir()) == ["finished.json", "model"]


def test_captions_do_not_depend_on_the_batch_size(trained: Any) -> None:
    captioner = trained[0]
    images = IMAGES + [image.rotate(90) for image in IMAGES]
    assert captioner.caption(images) == [captioner.caption([image])[0] for image in images]
    assert captioner.caption([]) == []


def test_load_gives_the_same_model(trained: Any, checkpoints: Checkpoints, tmp_path: Path) -> None:
    captioner, folder, report, _ = trained
    again = make(checkpoints.swin, **LEARNT)
    unreadable = MemorySubset(CAPTIONS, dict.fromkeys(range(8), "image_missing"))
    assert again.train(unreadable, folder, CPU, Recorder(stop_at=0), "f") == report
    assert again.caption(IMAGES) == CAPTIONS
    captioner.save(tmp_path)
    again.load(tmp_path, CPU)
    assert again.tokenizer.get_vocab() == captioner.tokenizer.get_vocab()
    assert all(torch.equal(tensor, weights(again)[name]) for name, tensor in weights(captioner).items())
    with pytest.raises(UserError, match="must be the folder of an LSTM captioner"):
        again.load(tmp_path / "encoder", CPU)


def test_a_timm_folder_is_its_cnn_with_pooled_features(eight_pairs: MemorySubset, tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = timm.create_model("test_resnet", num_classes=7).eval()
    data = {"input_size": (3, SIZE, SIZE), "crop_pct": 1.0, "crop_mode": "squash"}
    save_for_hf(model, str(tmp_path / "timm"), safe_serialization=True, data_config=data)
    captioner, again = make(str(tmp_path / "timm")), make(str(tmp_path / "timm"))
    captioner.train(eight_pairs, tmp_path / "run", CPU, Recorder(), "f")
    pixels = torch.randn(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        pooled = model.global_pool(model.forward_features(pixels))
    assert torch.allclose(captioner.features(pixels), pooled, atol=1e-6)
    again.load(tmp_path / "run", CPU)
    loaded = again.cnn.state_dict()
    assert all(torch.equal(tensor, loaded[name]) for name, tensor in captioner.cnn.state_dict().items())
    # Not to the last bit on every processor, where the same weights may be at another alignment.
    assert torch.allclose(again.features(pixels), captioner.features(pixels), atol=1e-6)
    assert again.caption(IMAGES) == captioner.caption(IMAGES)


def test_only_the_lstm_is_trained(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    captioner = make(checkpoints.swin)
    captioner.build(CPU)
    before = [tensor.clone() for tensor in captioner.cnn.state_dict().values()]
    captioner.train(eight_pairs, tmp_path, CPU, Recorder(), "f")
    assert all(map(torch.equal, before, captioner.cnn.state_dict().values()))


def test_resume_ends_with_the_same_bits(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    whole, cut, resumed = (make(checkpoints.swin, checkpoint_every=16) for _ in range(3))
    whole.train(eight_pairs, tmp_path / "whole", CPU, Recorder(), "f")
    with pytest.raises(KeyboardInterrupt):
        cut.train(eight_pairs, tmp_path / "cut", CPU, Recorder(stop_at=40), "f")
    report = resumed.train(eight_pairs, tmp_path / "cut", CPU, Recorder(), "f")
    assert report.resumed_from == 4
    assert all(torch.equal(tensor, weights(resumed)[name]) for name, tensor in weights(whole).items())


def test_rare_words_are_unknown_and_never_written() -> None:
    texts = ["A cat, a Dog [END]", "a cat\x85\u2028 cats [UNK]"]
    tokenizer = make_tokenizer(texts, 2)
    words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert words == ["[END]", "[START]", "[UNK]", "a", "[", "]", "cat"]
    assert tokenizer("the CAT [END]", add_special_tokens=False)["input_ids"] == [2, 6, 4, 2, 5]
    assert len(make_tokenizer(texts, 1)) == 12
    assert len(make_tokenizer(texts, 4)) == 3


def test_a_vocabulary_without_words_is_one_line(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"no word occurs 9 times .*word_threshold$"):
        make(checkpoints.swin, word_threshold=9).train(eight_pairs, tmp_path, CPU, Recorder(), "f")
    unreadable = MemorySubset(CAPTIONS, dict.fromkeys(range(8), "image_missing"))
    with pytest.raises(UserError, match="no sample of the subset can be read"):
        make(checkpoints.swin).train(unreadable, tmp_path, CPU, Recorder(), "g")


def test_the_vocabulary_has_other_captions_too(checkpoints: Checkpoints, tmp_path: Path) -> None:
    captioner = make(checkpoints.swin, word_threshold=8)
    captioner.train(MemorySubset(CAPTIONS, others=("some thing", None)), tmp_path, CPU, Recorder(), "f")
    assert set(captioner.tokenizer.get_vocab()) >= {"square", "some", "thing"}
    assert "red" not in captioner.tokenizer.get_vocab()


def lstm(words: int, seed: int) -> CaptionLstm:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = CaptionLstm(4, words, 8, 0.5).eval()
        for parameter in model.parameters():
            parameter.data *= 4  # less alike than new weights are
    return model


def log_probability(model: CaptionLstm, features: torch.Tensor, caption: list[int]) -> float:
    """Of a caption as training sees it: the negative loss."""
    ids = torch.tensor([[START, *caption[:-1]]])
    loss, _ = model(
        {"image_features": features[None], "decoder_input_ids": ids, "labels": torch.tensor([caption])}
    )
    return -loss.item()


def captions_up_to(length: int, words: range) -> list[list[int]]:
    whole = [list(c) for c in itertools.product(words, repeat=length)]
    ended = [[*c, END] for n in range(length) for c in itertools.product(words, repeat=n)]
    return whole + ended


@pytest.mark.parametrize("seed", range(4))
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
    """Keep the best `beams` continuations at each step; finished ones compete and are not continued."""
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
    by_hand = log_probability(model, torch.ones(4), [3, 4, END]) + log_probability(
        model, torch.ones(4), [5, 3, 4, 5]
    )
    assert total.item() == pytest.approx(-by_hand, rel=1e-5)
