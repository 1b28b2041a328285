"""A scorer of the released one's size with random weights, a tokenizer of real captions and a fitted head."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification

SPECIAL = {"bos": "<s>", "eos": "</s>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>"}


def laion_captions(shared_data: Path) -> list[str]:
    """10,000 crawled alt texts."""
    table = pq.read_table(shared_data / "laion_alt_text" / "test_10000.parquet", columns=["TEXT"])
    return [text or "" for text in table["TEXT"].to_pylist()]


def word_concreteness(shared_data: Path, captions: Sequence[str]) -> np.ndarray:
    """Mean rating of a caption's words, 3 if no word is rated; shape (n,)."""
    ratings = shared_data / "brysbaert_concreteness" / "Concreteness_ratings_Brysbaert_et_al_BRM.txt"
    rows = [line.split("\t") for line in ratings.read_text().splitlines()[1:]]
    rated = {row[0]: float(row[2]) for row in rows}
    return np.array([np.mean([rated.get(w, 3.0) for w in c.lower().split()] or [3.0]) for c in captions])


def distilroberta_size(folder: Path, captions: Sequence[str]) -> None:
    """Save the checkpoint: 6 layers of 768, and 50,265 words. The captions use 20,043 of them."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=50265,
        min_frequency=2,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(captions, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    special = {f"{name}_token": token for name, token in SPECIAL.items()}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **special).save_pretrained(
        folder
    )
    config = RobertaConfig(
        vocab_size=50265, num_hidden_layers=6, max_position_embeddings=514, type_vocab_size=1, num_labels=1
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        RobertaForSequenceClassification(config).save_pretrained(folder)


@torch.no_grad()
def fit_head(folder: Path, captions: Sequence[str], target: np.ndarray) -> None:
    """Fit the last linear layer to `target` by ridge regression, so that the logits spread and mean something."""
    model = RobertaForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    last = model.classifier.out_proj
    seen: list[torch.Tensor] = []
    hook = last.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    for caption in captions:
        model(**tokenizer(caption, truncation=True, return_tensors="pt"))
    hook.remove()
    features = torch.cat(seen).double()
    centred = features - features.mean(0)
    gram = centred.T @ centred / len(centred)
    ridge = gram.diagonal().mean() * torch.eye(len(gram))
    wanted = torch.tensor(target - target.mean()).double()
    weight = torch.linalg.solve(gram + ridge, centred.T @ wanted / len(centred))
    last.weight.copy_(weight[None])
    last.bias.copy_(target.mean() - features.mean(0) @ weight)
    model.save_pretrained(folder)
