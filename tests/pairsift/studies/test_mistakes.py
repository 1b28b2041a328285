"""Wrong commands of the studies' tasks: each ends before any work, with one line that names the setting."""

from pathlib import Path

import pytest

from tests.command_line import Run, assert_one_line
from tests.demos import demo_model
from tests.pools import rows, write_metadata, write_pool

MISTAKES = [
    ("task=figure", "task=figure needs figure=NAME, one of ava_2, ava_3"),
    ("task=figure figure=icc_99", "figure=icc_99 is unknown; did you mean"),
    ("task=figure figure=icc_2 figure.clusters=3", "there is no setting 'figure.clusters'"),
    ("task=weak_labels weak_labels.topics=1", "weak_labels.topics=1 must be an integer of at least 2"),
    ("task=weak_labels weak_labels.max_share=10", "weak_labels.max_share=10 must be a number above 0"),
    (
        "task=weak_backbone weak_backbone.architecture=resnet10",
        "resnet10 must be an architecture of timm; did you mean 'resnet10t'",
    ),
    ("task=weak_backbone device=cuda:9", "device=cuda:9 asked for"),
    ("task=weak_labels {pool} models.parser=/nowhere", "/nowhere"),
    ("{augment} augmentation=rewrite models.rewriter={vit}", "does not load as AutoTokenizer"),
    ("{augment} models.describer=/nowhere/llava", "checkpoint /nowhere/llava is not there"),
    ("{augment} augmentation=rewrite augmentation.examples=[]", "has 0 pairs"),
    ("{train} captions.files=[/nowhere]", "no parquet file at /nowhere; give what task=augment printed"),
    ("{train} captions.files=/nowhere", "write captions.files=[/nowhere]"),
    ("{train} captions.columns=[txet]", "no column 'txet' in its metadata; did you mean 'text'?"),
    ("task=text_spotting task.vocabulary=/nowhere.txt", "task.vocabulary=/nowhere.txt does not exist"),
    ("{spotting} task.model=ViT-B-33", "open_clip has no model 'ViT-B-33'; did you mean 'ViT-B-32'"),
    ("{spotting} task.model={folder}", "must be the folder of a dual encoder, but has no heads.safetensors"),
    ("{spotting} task.model=local-dir:/nowhere", "checkpoint /nowhere is not there"),
    ("{spotting} task.sample=some", "must be a positive integer, or null for the whole vocabulary"),
    ("{spotting} task.ngram=50", "has no 50-gram"),
    ("{concreteness} filter=clip task.demo=60", "filter clip reads 'image' beside the caption"),
    (
        "{concreteness} filter=icc models.icc.checkpoint=/nowhere task.ratings=/nowhere.txt",
        "checkpoint /nowhere",
    ),
    ("{concreteness} task.sample=0", "task.sample=0 must be a positive integer, or null for all texts"),
    ("{concreteness} pool=img2dataset pool.url=/x", "task.annotations=FILE (data/caption_"),
    ("{concreteness} pool=img2dataset pool.url=/x task.demo=9", "add pool=demo"),
    ("{concreteness} task.explain=' '", "task.explain is empty"),
    ("task=profile profile.samples=0", "must be a positive integer, or null for the whole pool"),
    ("task=profile profile.clusters=0", "profile.clusters=0 must be a positive integer"),
    ("task=profile {captions}", "has no tars; add profile.images=false to profile its captions"),
    ("{likeness} profile.images=no", "profile.images=no must be true or false"),
    ("{likeness} profile.captions=50", "the captions have 300 words; their statistics need 1,000"),
    ("{likeness} profile.ratings=/nowhere", "profile.ratings=/nowhere does not exist"),
    ("{ratings}0.csv]", "must have ratings from 0 to 3, not '4'"),
    ("{ratings}2.csv]", "not '1.5'"),
    ("{ratings}3.csv]", "two or more people who rated the same captions"),
    ("{ratings}twice.csv]", "two or more people who rated the same captions"),
    ("{ratings}4.csv] models=demo filter=clip", "filter clip reads 'image' beside the caption"),
    ("task=figure figure=parrot_10 {captions} figure.lows=[]", "figure.lows must have one number or more"),
    (
        "task=figure figure=parrot_1 {pool} figure.negated=[CoTRR]",
        "figure.filters has no CoTRR; did you mean 'CoTR'",
    ),
]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What commands begin with, and the files that they name."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "ocr.txt").write_text("keep calm and dance on\nKEEP calm\n")
    pool = f"pool=img2dataset pool.url={write_pool(folder / 'pool', [rows(12)])}"
    write_metadata(folder / "captions" / "a.parquet", rows(400))
    captions = f"pool=img2dataset pool.url={folder / 'captions'}"
    for number, rating in enumerate(("4", "-1", "1.5", "", "2")):
        (folder / f"{number}.csv").write_text(f"uid,caption,rating\n{'0' * 32},a dog,{rating}\n")
    (folder / "twice.csv").write_text((folder / "4.csv").read_text() + f"{'0' * 32},a dog,1\n")
    small = f"{pool} filter=random models=demo device=cpu size.samples=6 downstream=dual_encoder"
    small += " downstream.dual_encoder.training.samples_seen=8 downstream.dual_encoder.training.batch_size=4"
    return {
        "folder": str(folder), "pool": pool, "captions": captions, "vit": demo_model("vit"),
        "augment": f"task=augment {small}", "train": f"task=train {small}",
        "spotting": f"task=text_spotting task.vocabulary={folder / 'ocr.txt'}",
        "concreteness": "task=concreteness filter=random",
        "likeness": f"task=profile profile.images=false {captions}",
        "ratings": f"task=annotation {pool} task.ratings_back=[{folder}/",
    }  # fmt: skip


@pytest.mark.parametrize(("command", "message"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_one_line(
    run: Run, parts: dict[str, str], tmp_path: Path, command: str, message: str
) -> None:
    arguments = command.replace("' '", "SPACE").format(**parts).split()
    given = {a.partition("=")[0]: a.replace("SPACE", " ") for a in arguments}  # the last of a setting
    assert_one_line(run(*given.values(), f"results_dir={tmp_path}"), message)
