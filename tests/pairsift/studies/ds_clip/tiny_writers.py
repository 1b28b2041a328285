"""Tiny models: a Llama that maps each token to a given next token, and a LLaVA with random weights."""

from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.filters.generators import following_model, llama_config

SPECIAL = ["<unk>", "<s>", "</s>", "<image>"]


def line_tokenizer(words: list[str]) -> PreTrainedTokenizerFast:
    """Words and line ends are tokens; other white space is not."""
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, "\n", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n|[^\s]+"), "removed", invert=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
    )  # fmt: skip


def repeating_model(folder: Path, following: dict[str, str], positions: int = 1024) -> Path:
    """A Llama that generates after each token the one that `following` gives for it."""
    words = sorted({word for pair in following.items() for word in pair} - {"\n", "</s>"})
    return following_model(folder, line_tokenizer(words), following, positions)


def llava_model(folder: Path) -> Path:
    """A LLaVA with random weights, images of 16 x 16 pixels and a short form of LLaVA 1.5's chat template."""
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = line_tokenizer(
        ["USER:", "ASSISTANT:", "Tell", "me", "in", "detail", "what", "is", "main", "a", "cat"]
    )
    tokenizer.pad_token = "<unk>"
    vision = CLIPVisionConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=16, patch_size=8,
        projection_dim=16,
    )  # fmt: skip
    with torch.random.fork_rng([]):
        torch.manual_seed(3)
        text = llama_config(len(tokenizer), 256)
        text.initializer_range = 1.0  # or every image would get the same answer
        model = LlavaForConditionalGeneration(
            LlavaConfig(vision_config=vision, text_config=text, image_token_index=3, vision_feature_layer=-1)
        )
    model.save_pretrained(folder)
    sizes = {"shortest_edge": 16}
    images = CLIPImageProcessor(size=sizes, crop_size={"height": 16, "width": 16})
    template = (
        "{% for m in messages %}USER: {% for c in m['content'] %}{% if c['type'] == 'image' %}<image>\n"
        "{% else %}{{ c['text'] }} {% endif %}{% endfor %}{% endfor %}ASSISTANT:"
    )
    LlavaProcessor(
        image_processor=images, tokenizer=tokenizer, patch_size=8, vision_feature_select_strategy="default",
        chat_template=template, num_additional_image_tokens=1,
    ).save_pretrained(folder)  # fmt: skip
    return folder
