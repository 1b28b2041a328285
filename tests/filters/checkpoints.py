"""Small checkpoints with random weights, in the formats of the real ones."""

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification

WORDS = ["a photo of thing number", "red ball", "the meaning of life", "0123456789 .,!"]


def roberta_scorer(folder: Path, labels: int = 1, layers: int = 2, **shape: float) -> Path:
    """A sequence classifier like `moranyanuka/icc`: RoBERTa, one logit, byte-level BPE."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 20, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    special = {"bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
    names = {f"{name}_token": text for name, text in (special | {"cls": "<s>", "sep": "</s>"}).items()}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=62, **names)
    fast.save_pretrained(folder)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "initializer_range": 0.5}
    sizes |= {"vocab_size": len(fast), "max_position_embeddings": 64} | shape
    config = RobertaConfig(num_hidden_layers=layers, num_labels=labels, pad_token_id=1, **sizes)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        RobertaForSequenceClassification(config).save_pretrained(folder)
    return folder


def open_clip_model(folder: Path) -> str:
    """A CLIP of two small ViTs in open_clip's ``local-dir:`` format; returns the model's name."""
    import open_clip
    from safetensors.torch import save_file

    config = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
        "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    }
    folder.mkdir(parents=True, exist_ok=True)
    preprocess = {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": config, "preprocess_cfg": preprocess})
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = open_clip.CLIP(**config)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    return f"local-dir:{folder}"
