import json

import torch
from safetensors.torch import load_file, save_file

from tools.scale_models.ship_icc import ship


def test_only_files_for_filters_are_shipped_in_float16(tmp_path):
    build = tmp_path / "build"
    for name in ("sba/bridge/model.safetensors", "icc/distilled/model/model.safetensors"):
        (build / name).parent.mkdir(parents=True)
        save_file({"weight": torch.arange(6.0).view(2, 3)}, build / name)
    texts = ["sba/scores/standardizer-edit.json", "icc/distilled/model/config.json"]
    for name in (*texts, "sba/bridge/manifest.json"):
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).write_text(json.dumps({"a": [1, 2]}, indent=2))
    ship(build, tmp_path / "icc")
    shipped = {str(p.relative_to(tmp_path / "icc")) for p in (tmp_path / "icc").rglob("*") if p.is_file()}
    assert shipped == {*texts, "sba/bridge/model.safetensors", "icc/distilled/model/model.safetensors"}
    weight = load_file(tmp_path / "icc" / "sba" / "bridge" / "model.safetensors")["weight"]
    assert weight.dtype == torch.float16
    assert torch.equal(weight.float(), torch.arange(6.0).view(2, 3))
    assert (tmp_path / "icc" / "sba" / "scores" / "standardizer-edit.json").read_text() == '{"a":[1,2]}\n'
