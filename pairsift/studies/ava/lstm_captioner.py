"""The captioner of AVA-Captions: an LSTM on the features of a frozen CNN (Ghosal et al. 2019, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.core.batch import Sample
from benchmark.core.distributed import make_accelerator
from benchmark.core.errors import UserError
from benchmark.core.progress import MetricLogger
from benchmark.core.ranges import FractionBelowOne, PositiveInt, checked
from benchmark.models.checkpoints import load_image_processor, load_pretrained
from downstream.batching import to_pixels
from downstream.models.base import CaptioningModel, Checkpoint, model_folder, seeded, start_and_end
from downstream.models.timm_encoder import load_encoder
from downstream.training.train_report import TrainReport
from downstream.training.trainer import TrainConfig, Trainer
from downstream.training.training_data import SampleOrder, SampleStream, TrainingData, TrainingSubset

if TYPE_CHECKING:
    import torch

END, START, UNKNOWN = SPECIAL = ["[END]", "[START]", "[UNK]"]  # words are in lower case
WEIGHTS = "lstm.safetensors"


@checked
class LstmCaptioner(CaptioningModel):
    """A frozen CNN, and an LSTM that is trained on its features with a vocabulary of whole words.

    Args:
        encoder: hub name or folder of a vision model with its image processor, or of any timm model. Its features are
            the mean over positions. None raises `UserError`.
        width: of the embeddings of words and of the LSTM.
        dropout: of the LSTM's outputs.
        word_threshold: how often a word must occur in the captions of the subset to be in the vocabulary.
        max_words: length at which captions are cut, in training and when they are written.
    """

    name = "lstm_captioner"

    def __init__(
        self,
        encoder: str | None,
        training: TrainConfig,
        width: PositiveInt,
        dropout: FractionBelowOne,
        word_threshold: PositiveInt,
        max_words: PositiveInt,
        beams: PositiveInt,
        eval_batch_size: PositiveInt,
    ) -> None:
        if encoder is None:
            raise UserError(
                "models.lstm_captioner.weak_encoder must be the folder that task=weak_backbone prints"
            )
        if training.source == "stream":
            raise UserError(
                "downstream=lstm_captioner reads its images at random offsets; set training.source=index"
            )
        self.encoder = Checkpoint(encoder, "downstream.lstm_captioner.encoder")
        self.training = training
        self.width = width
        self.dropout = dropout
        self.word_threshold = word_threshold
        self.max_words = max_words
        self.beams = beams
        self.eval_batch_size = eval_batch_size

    def build(self, device: torch.device) -> None:
        """Load the CNN. The LSTM is made by `fit`, as its vocabulary is that of the subset."""
        self._load_encoder(self.encoder.name, device)

    def _load_encoder(self, name: str, device: torch.device) -> None:
        self.processor = load_image_processor(name)
        cnn = load_encoder(name).eval()
        self.encoder.check_images(self.processor, cnn)
        self.cnn = cnn.to(device)
        self.device = device

    def try_out(self, pairs: Sequence[Sample], device: torch.device) -> None:
        """Write a caption by an untrained LSTM with the vocabulary of the pairs."""
        self.build(device)
        self.tokenizer = make_tokenizer((pair.text for pair in pairs), 1)
        self.model = self._make_lstm(len(self.tokenizer), self.width)
        self.caption([pairs[0].image])

    def _make_lstm(self, words: int, width: int) -> Any:
        from pairsift.studies.ava.lstm_network import CaptionLstm

        with seeded(self.training.seed):
            return CaptionLstm(self.cnn.config.hidden_size, words, width, self.dropout).to(self.device)

    def fit(
        self, subset: TrainingSubset, folder: Path, tracker: MetricLogger, fingerprint: str
    ) -> TrainReport:
        """Embed each image once, make the vocabulary, and train the LSTM for the budget.

        Raises `UserError` if no word is frequent enough.
        """
        from downstream.models.networks import CaptionCollate
        from downstream.training.embedded_subset import embed_subset

        assert not isinstance(subset, SampleStream)
        self.device = make_accelerator(self.device).device
        self.cnn.to(self.device)
        order = SampleOrder(subset.epochs, self.training.seed)
        drawn = np.unique(order.indices(0, self.training.samples_seen))
        cached = folder / "embeddings" / fingerprint
        pixels, size = partial(to_pixels, self.processor), self.eval_batch_size
        workers = self.training.workers_on(self.device)
        source = embed_subset(subset, drawn, cached, self.features, pixels, size, workers, self.device)
        self.tokenizer = make_tokenizer(source.captions(), self.word_threshold)
        if len(self.tokenizer) == len(SPECIAL) and any(source.captions()):
            raise UserError(
                f"no word occurs {self.word_threshold} times in the captions of the subset; lower"
                " downstream.lstm_captioner.word_threshold"
            )
        self.model = self._make_lstm(len(self.tokenizer), self.width)
        collate = CaptionCollate(self.processor, self.tokenizer, self.max_words)
        data = TrainingData(source, order, collate, decodes=False)
        trainer = Trainer(self.name, self.training, self.device, tracker, validate=self.validate)
        return trainer.fit(self.model, data, folder / "checkpoints", fingerprint)

    def features(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the mean of the CNN's last features over all positions, (n, d)."""
        with self.inference():
            states: torch.Tensor = self.cnn(pixel_values=pixels.to(self.device)).last_hidden_state
        return states.mean(1)

    def generate(self, pixels: torch.Tensor) -> Any:
        """Return the token ids of a caption per image, (n, t), by beam search."""
        start, end = start_and_end(self.tokenizer)
        never = [start, self.tokenizer.unk_token_id]
        return self.model.search(self.features(pixels), self.beams, self.max_words, start, end, never)

    def save(self, path: Path) -> None:
        """Write ``encoder/`` in the hub's format, the vocabulary as ``tokenizer.json``, and the LSTM's weights."""
        from safetensors.torch import save_file

        self.cnn.save_pretrained(path / "encoder")
        self.processor.save_pretrained(path / "encoder")
        self.tokenizer.save_pretrained(path)
        save_file(self.model.state_dict(), path / WEIGHTS)

    def load(self, path: Path, device: torch.device) -> None:
        """Load the model that `save` or `train` wrote to `path`."""
        from safetensors.torch import load_file

        path = model_folder(path)
        if not (path / WEIGHTS).exists():
            raise UserError(f"{path} must be the folder of an LSTM captioner, but has no {WEIGHTS}")
        self._load_encoder(str(path / "encoder"), device)
        self.tokenizer = load_pretrained("AutoTokenizer", str(path))
        weights = load_file(path / WEIGHTS)
        self.model = self._make_lstm(*weights["words.weight"].shape)
        self.model.load_state_dict(weights)


def make_tokenizer(captions: Iterable[str], threshold: int) -> Any:
    """Return a tokenizer with a vocabulary of the words that occur at least `threshold` times.

    Words are in lower case and end at punctuation, which is a word too.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.trainers import WordLevelTrainer
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(WordLevel(unk_token=UNKNOWN))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    trained: dict[str, Any] = {"min_frequency": threshold, "special_tokens": SPECIAL, "show_progress": False}
    tokenizer.train_from_iterator(captions, WordLevelTrainer(vocab_size=2**31, **trained))
    # A caption that holds "[END]" has these letters, not the token.
    special = {"unk_token": UNKNOWN, "bos_token": START, "eos_token": END, "split_special_tokens": True}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
