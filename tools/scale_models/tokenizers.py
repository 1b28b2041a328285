"""Small tokenizers of the same kinds as the original models', trained on captions.

In all functions `vocabulary` is the number of tokens including special tokens, and `length` the maximum number of
tokens per text.
"""

import json
import string
from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

START, END, PAD = "<start_of_text>", "<end_of_text>", "<pad>"
END_OF_TEXT = "<|endoftext|>"
BOS, EOS, UNK, MASK = "<s>", "</s>", "<unk>", "<mask>"


def gpt2_tokenizer(texts: Sequence[str], vocabulary: int, length: int) -> Any:
    """Train a byte-level BPE like GPT-2's: cased, `<|endoftext|>` as start and end, no padding token."""
    from transformers import GPT2Tokenizer

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    _train_byte_level(bpe, texts, vocabulary - 1, [])
    return GPT2Tokenizer(**_pieces(bpe, END_OF_TEXT), model_max_length=length)


def bert_tokenizer(texts: Sequence[str], vocabulary: int, length: int) -> Any:
    """Train a lower-cased WordPiece like bert-base-uncased's, with `[PAD]` at id 0."""
    from transformers import BertTokenizer

    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=True)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    letters = sorted({*string.ascii_lowercase, *string.digits, *string.punctuation})
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary,
        # Letters inside words are listed, because the trainer would number them in a random order.
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"##{letter}" for letter in letters)],
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        show_progress=False,
    )
    pieces.train_from_iterator(texts, trainer)
    vocab: Any = json.loads(pieces.to_str())["model"]["vocab"]
    return BertTokenizer(vocab=vocab, model_max_length=length)


def clip_tokenizer(texts: Sequence[str], vocabulary: int, length: int) -> Any:
    """Train a lower-cased BPE like CLIP's; the end token has the highest id, as open_clip pools there."""
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    bpe.decoder = decoders.ByteLevel()
    _train_byte_level(bpe, texts, vocabulary - 2, [PAD])
    bpe.add_special_tokens([START, END])
    ids = [(token, bpe.token_to_id(token)) for token in (START, END)]
    bpe.post_processor = processors.TemplateProcessing(single=f"{START} $A {END}", special_tokens=ids)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=START, eos_token=END, pad_token=PAD, model_max_length=length
    )


def llama_tokenizer(texts: Sequence[str], vocabulary: int, length: int) -> Any:
    """Train a byte-level BPE like Llama's: it splits numbers into digits and starts each text with `<s>`.

    Line breaks always stay single tokens, provided that no training text contains one.
    """
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = decoders.ByteLevel()
    _train_byte_level(bpe, texts, vocabulary, [PAD, BOS, EOS])
    bpe.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, bpe.token_to_id(BOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=BOS, eos_token=EOS, pad_token=PAD, model_max_length=length
    )


def roberta_tokenizer(texts: Sequence[str], vocabulary: int, length: int) -> Any:
    """Train a byte-level BPE like RoBERTa's: cased, `<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3, `<mask>` last."""
    from transformers import RobertaTokenizer

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    _train_byte_level(bpe, texts, vocabulary - 1, [BOS, PAD, EOS, UNK])
    return RobertaTokenizer(**_pieces(bpe, MASK), model_max_length=length)


def _train_byte_level(bpe: Tokenizer, texts: Sequence[str], vocabulary: int, special: list[str]) -> None:
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)


def clip_hub_tokenizer(texts: Sequence[str], vocabulary: int, length: int) -> Any:
    """Train a lower-cased BPE in the hub's format, as Stable Diffusion's CLIP has it: words end in `</w>`."""
    from transformers import CLIPTokenizer

    empty = CLIPTokenizer(vocab={}, merges=[])
    bpe = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    bpe.normalizer, bpe.pre_tokenizer = (
        empty.backend_tokenizer.normalizer,
        empty.backend_tokenizer.pre_tokenizer,
    )
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - 2,
        # Letters at word ends are listed, as the trainer would number them in a different order each time.
        special_tokens=[*letters, *(f"{letter}</w>" for letter in letters)],
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    return CLIPTokenizer(**_pieces(bpe, empty.bos_token, empty.eos_token), model_max_length=length)


def _pieces(bpe: Tokenizer, *last: str) -> dict[str, Any]:
    """Return vocabulary and merges, as transformers takes them; the tokens `last` have the highest ids."""
    model = json.loads(bpe.to_str())["model"]
    ids = {token: len(model["vocab"]) + number for number, token in enumerate(last)}
    return {"vocab": model["vocab"] | ids, "merges": [(first, second) for first, second in model["merges"]]}
