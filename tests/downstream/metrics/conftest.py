from pathlib import Path

import pytest

from downstream.metrics import base, java
from tests.downstream.metrics.test_java import fake_java

# Answers of METEOR 1.5's jar to SCORE for: a paraphrase with function words, stems, only function words, an
# identical caption, nothing in common.
METEOR_ANSWERS = (
    "9 10 4 5 1 1 1 1 0 0 0 0 0 0 0 0 2 2 1 2 3 5 6",
    "3 7 0 3 1 1 0 0 1 1 0 0 1 1 0 0 0 0 0 0 1 3 3",
    "3 3 3 3 0 0 3 3 0 0 0 0 0 0 0 0 0 0 0 0 3 3 3",
    "5 5 3 3 2 2 3 3 0 0 0 0 0 0 0 0 0 0 0 0 1 5 5",
    "1 3 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
)
WORDS = ["a", "the", "cat", "dog", "sits", "runs", "on", "under", "red", "big", "mat", "photo"]
WORDS += ["of", "two", "and", "is", "in", "park", "table", "man"]


@pytest.fixture
def recorded_meteor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """METEOR gets the recorded answers for five images; captions are tokens already."""
    answers = "; ".join(f"read -r line; echo {answer}" for answer in METEOR_ANSWERS)
    recorded = fake_java(tmp_path / "recorded", answers)
    for module in (java, base):
        monkeypatch.setattr(module, "find_java", lambda: recorded)
    monkeypatch.setattr(base, "tokenize_corpus", lambda corpus: corpus)


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa of 3 layers with random weights and a word tokenizer, in the hub's format."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    vocabulary = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>"}
    special = {f"{name}_token": token for name, token in names.items()}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **special)
    sizes = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}
    config = RobertaConfig(vocab_size=len(vocabulary), max_position_embeddings=42, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = RobertaModel(config).eval()
    folder = tmp_path_factory.mktemp("encoder") / "roberta"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
