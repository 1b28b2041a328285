"""Checkpoints that bring Python, and checkpoints without all of their weights."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

from benchmark.core.errors import UserError
from benchmark.models.checkpoints import load_model, load_pretrained
from benchmark.models.clip_models import load_clip
from tests.demos import demo_model

CPU = torch.device("cpu")
CODE = """
from pathlib import Path

Path({trace!r}).write_text("run")

from transformers import AutoConfig, BertModel, BertTokenizerFast, PretrainedConfig


class Config(PretrainedConfig):
    model_type = "planted"


class Model(BertModel):
    config_class = Config


class Tokenizer(BertTokenizerFast):
    pass
"""


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What planted code would write; a question on the terminal fails the test."""
    questions: list[str] = []

    def answer(question: str) -> str:
        questions.append(question)
        return "no"

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    yield tmp_path / "trace"
    assert not questions


def plant(folder: Path, trace: Path) -> None:
    """Let all auto classes find Python in the folder of a checkpoint."""
    (folder / "planted.py").write_text(CODE.format(trace=str(trace)))
    auto_map = {"AutoConfig": "planted.Config", "AutoModel": "planted.Model"}
    edit(folder / "config.json", {"model_type": "planted", "auto_map": auto_map})
    tokenizer = {"AutoTokenizer": ["planted.Tokenizer", "planted.Tokenizer"]}
    edit(folder / "tokenizer_config.json", {"tokenizer_class": "Tokenizer", "auto_map": tokenizer})


def copied(name: str, folder: Path) -> Path:
    """Copy one of the demo's models."""
    return Path(shutil.copytree(demo_model(name), folder))


def edit(path: Path, changes: dict[str, object]) -> None:
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(content | changes))


def copied_clip(folder: Path, text_settings: dict[str, object]) -> str:
    """Copy the demo's CLIP with other settings of its text tower."""
    copied("clip", folder)
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"]["text_cfg"] |= text_settings
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    return f"local-dir:{folder}"


@pytest.mark.parametrize("auto_class", [AutoConfig, AutoModel, AutoTokenizer])
def test_python_of_a_checkpoint_is_not_run(auto_class: object, tmp_path: Path, trace: Path) -> None:
    plant(copied("bert", tmp_path / "bert"), trace)
    with pytest.raises(UserError, match="does not load as"):
        load_pretrained(auto_class, str(tmp_path / "bert"))
    assert not trace.exists()


def test_python_of_a_clips_tokenizer_or_text_tower_is_not_run(tmp_path: Path, trace: Path) -> None:
    trusting = {"hf_tokenizer_name": "any", "tokenizer_kwargs": {"trust_remote_code": True}}
    clip = copied_clip(tmp_path / "clip", trusting)
    plant(tmp_path / "clip", trace)
    with pytest.raises(UserError, match=r"CLIP .* cannot be loaded: .*custom code"):
        load_clip(clip, None, CPU)
    plant(copied("bert", tmp_path / "bert"), trace)
    clip = copied_clip(tmp_path / "other", {"hf_model_name": str(tmp_path / "bert")})
    with pytest.raises(UserError, match=r"CLIP .* cannot be loaded"):
        load_clip(clip, None, CPU)
    assert not trace.exists()


def all_weights(path: Path) -> None:
    path.unlink()


def one_weight(path: Path) -> None:
    weights = load_file(path)
    weights.pop(next(name for name in weights if "attn" in name or "attention" in name))
    save_file(weights, path, {"format": "pt"})


def plant_normalizer(folder: Path, normalizer: dict[str, object]) -> None:
    """Give a checkpoint's tokenizer a step of normalisation, and let transformers read the tokenizer as it is."""
    edit(folder / "tokenizer.json", {"normalizer": normalizer})
    edit(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})


@pytest.mark.parametrize(
    ("name", "line"), [("icc", "does not load as AutoTokenizer"), ("clip", "cannot be loaded")]
)
def test_a_tokenizer_that_panics_when_loaded_is_an_error(name: str, line: str, tmp_path: Path) -> None:
    folder = copied(name, tmp_path / "icc") / "icc/distilled/model" if name == "icc" else tmp_path / "clip"
    clip = copied_clip(tmp_path / "clip", {})
    plant_normalizer(folder, {"type": "Precompiled", "precompiled_charsmap": "AAAA"})
    with pytest.raises(UserError, match=rf"{line}: Precompiled: .*; choose another checkpoint$"):
        load_pretrained("AutoTokenizer", str(folder)) if name == "icc" else load_clip(clip, None, CPU)


@pytest.mark.parametrize("remove", [all_weights, one_weight])
def test_a_model_without_its_weights_is_refused(remove: Callable[[Path], None], tmp_path: Path) -> None:
    clip = copied_clip(tmp_path / "clip", {})
    load_clip(clip, None, CPU)
    remove(tmp_path / "clip" / "open_clip_model.safetensors")
    with pytest.raises(UserError, match=r"CLIP .* cannot be loaded"):
        load_clip(clip, None, CPU)
    folder = copied("bert", tmp_path / "bert")
    load_model(AutoModel, str(folder), ("pooler",))
    remove(folder / "model.safetensors")
    with pytest.raises(UserError, match=r"lacks \d+ weights of \w+: |does not load"):
        load_model(AutoModel, str(folder), ("pooler",))
