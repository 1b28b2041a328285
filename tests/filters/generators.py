"""Small generative checkpoints for tests: a chat model whose answers are known, a diffusion pipeline."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import CLIPTextConfig, CLIPTextModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<unk>", "<s>", "</s>"]
# Ends with a token that says whether the question holds the word "red": what the answer is made from.
TEMPLATE = (
    "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    "{{ 'SEEN' if ' : red ' in messages[-1]['content'].replace('.', ' .') else 'UNSEEN' }}"
)


def word_tokenizer(words: list[str], **settings) -> PreTrainedTokenizerFast:
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", **settings
    )


def llama_config(size: int, positions: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=size, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1,
        max_position_embeddings=positions, bos_token_id=1, eos_token_id=2, pad_token_id=None,
        tie_word_embeddings=False,
    )  # fmt: skip


def following_model(
    folder: Path, tokenizer: PreTrainedTokenizerFast, following: dict[str, str], positions: int = 512
) -> Path:
    """A Llama that generates after each token the one that `following` gives for it."""
    tokenizer.save_pretrained(folder)
    model = LlamaForCausalLM(llama_config(len(tokenizer), positions))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.model.norm.weight.fill_(1)
        model.model.embed_tokens.weight.copy_(torch.eye(len(tokenizer), 16))
        for word, after in following.items():
            here, there = tokenizer.convert_tokens_to_ids([word, after])
            model.lm_head.weight[there, here] = 1
    model.save_pretrained(folder)
    return folder


def chat_model(folder: Path, template: str | None = TEMPLATE) -> Path:
    """A Llama that answers 5 where the caption is "red ...", else 2, and stops."""
    tokenizer = word_tokenizer(["SEEN", "UNSEEN", "2", "5"])
    tokenizer.chat_template = template
    return following_model(folder, tokenizer, {"SEEN": "5", "UNSEEN": "2", "5": "</s>", "2": "</s>"})


def diffusion_model(folder: Path) -> Path:
    """A Stable Diffusion pipeline with random weights that draws 16 x 16 images."""
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel

    tokenizer = word_tokenizer(["red", "blue", "ball"], pad_token="</s>", model_max_length=8)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        text = CLIPTextConfig(
            vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
            num_attention_heads=2, max_position_embeddings=8, bos_token_id=1, eos_token_id=2, pad_token_id=2,
        )  # fmt: skip
        unet = UNet2DConditionModel(
            sample_size=8, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=16, attention_head_dim=4,
        )  # fmt: skip
        vae = AutoencoderKL(block_out_channels=(4, 4), latent_channels=4, norm_num_groups=2,
            down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)  # fmt: skip
        text_encoder = CLIPTextModel(text)
    StableDiffusionPipeline(
        vae=vae, text_encoder=text_encoder, tokenizer=tokenizer, unet=unet,
        scheduler=DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    ).save_pretrained(folder)  # fmt: skip
    return folder
