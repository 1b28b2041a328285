"""What is missing or cannot be written is said in one line, before anything is scored."""

import re
import shlex
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import transformers

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir, cache_folder
from benchmark.run import job
from benchmark.run.sizes import check_budget
from pairsift.demo import pool
from tests.command_line import Done, Run, assert_lines
from tests.downstream.tiny_models import save_decoder
from tests.jobs import make_job
from tests.pools import rows, write_metadata, write_pool

MODELS = Path("pairsift/demo/models").resolve()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("preflight")
    write_pool(folder / "pool", [rows(12)])
    return folder


def chain(folder: Path, *overrides: str) -> list[str]:
    """The command of a whole run on a small pool with the demo's models and without evaluation sets."""
    sets = [f"~evalset.{name}" for name in ("coco", "nocaps", "flickr30k")]
    pool = ["pool=img2dataset", f"pool.url={folder / 'pool'}", "models=demo", "size.samples=5", "budget=50"]
    return [*pool, *sets, f"results_dir={folder / 'results'}", *(o.format(folder=folder) for o in overrides)]


def assert_refused(done: Done, *messages: str) -> None:
    """A line for each message, and nothing scored."""
    assert_lines(done, *messages)
    assert not cache_folder("scores").exists()


WRONG = {
    "filter=icc filter.checkpoint=/nowhere/icc models.captioner.encoder=/nowhere/swin"
    " models.dual_encoder.image=/nowhere/vit": [
        f"checkpoint /nowhere/{name} is not there" for name in ("icc", "swin", "vit")
    ],
    "task=reshard task.output=/proc/subset filter=random": ["task.output=/proc/subset cannot be written"],
    "pool.url=/nowhere evalset=demo ~evalset.classes filter=random": [
        "pool.url=/nowhere must be a folder", "evalset=demo needs pool=demo; use evalset=paper or evalset=hub",
    ],
    "models=paper metrics=[cider] filter=random,icc pool.url=/nowhere": [
        "error: pool.url=/nowhere must be",
        "filter=random: checkpoint microsoft/swin-base-patch4-window7-224-in22k, checkpoint gpt2",
        "filter=icc: checkpoint moranyanuka/icc, checkpoint microsoft/swin-base",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("given", "messages"), WRONG.items())
def test_all_that_is_wrong_is_in_one_answer(run: Run, folder: Path, given: str, messages: list[str]) -> None:
    command = chain(folder, *given.split())
    if "evalset=demo" in given:  # none of its sets is left out
        command = [word for word in command if word[:8] != "~evalset" or word in given.split()]
    assert_refused(run(*command), *messages)


@pytest.mark.parametrize(
    ("pool", "line"),
    [
        ("pool=img2dataset", "pool.url is not given; add pool.url=FOLDER"),
        ("pool=img2dataset pool.url={folder}/empty", "empty must be a folder with shards/*.tar"),
        ("pool=laion400m_8m", "set LAION400M_8M to the folder or URL"),
    ],
)
def test_the_first_answer_names_all_and_the_pool_first(
    run: Run, folder: Path, pool: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COCO_ROOT", "NOCAPS_ROOT", "FLICKR30K_ROOT", "LAION400M_8M"):
        monkeypatch.delenv(name, raising=False)
    (folder / "empty").mkdir(exist_ok=True)
    done = run(*pool.format(folder=folder).split(), "filter=icc", "size=200k")
    swin = "checkpoint microsoft/swin-base-patch4-window7-224-in22k"
    weights = f"checkpoint moranyanuka/icc, {swin}, checkpoint gpt2"
    sets = ["coco"] if pool.startswith("pool=img2dataset") else ["coco", "nocaps", "flickr30k"]
    assert_lines(done, line, weights, *(f"evaluation set {name}: " for name in sets))
    ways = done.stderr.splitlines()[-1]
    assert re.search("^ways on: evalset=hub downloads COCO and Flickr30k .*; models=demo is a dry run", ways)


def test_a_plan_names_toy_models_and_absent_metrics(
    run: Run, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    polos = "models.polos.checkpoint=/nowhere/check"
    checked = make_job(*chain(folder, "filter=random", polos))
    checked.check()
    assert "Polos weights for Polos" in [requirement.name for requirement in checked.absent]
    assert "Polos" not in caplog.text
    job._log_once.cache_clear()
    assert run(*chain(folder, "filter=random", "plan=true", "metrics=[polos]", polos)).returncode == 0
    (line,) = [line for line in caplog.messages if "/nowhere/check" in line]
    assert "missing: Polos weights for Polos: checkpoint /nowhere/check is not there" in line
    assert any("models=demo: dry run with toy models" in line for line in caplog.messages)


def test_too_small_a_disk(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "BYTES_PER_PAIR", 10**11)
    assert_refused(run("filter=random"), "8,000,000,000 MB will be written to")
    assert not (cache_dir() / "demo").exists()


def test_a_size_of_the_papers_pool_is_named_with_that_of_the_demo(run: Run) -> None:
    asked = "size asks for 90,000,000 pairs of the paper's pool, which is 900,000 here (scale 1:100)"
    assert_refused(run("filter=random", "size=90m"), asked)


def test_more_than_100_epochs_must_be_typed(run: Run) -> None:
    refused = "budget=2m would train captioner for 200 epochs of 100 pairs; add budget=100k for 10 epochs"
    assert_refused(run("filter=random", "size=10k", "plan=true"), refused)
    models = [f"downstream.{name}.training.samples_seen=20000" for name in ("captioner", "dual_encoder")]
    cfg = make_job("filter=random", "size.samples=10000", *models).cfg
    with pytest.raises(UserError, match="budget=2m would train dual_encoder"):
        check_budget(cfg, models[:1])
    for typed in (models, ["budget=2m"]):
        check_budget(cfg, typed)
    check_budget(cfg, [], k=200)


def test_doctor_draws_nothing(run: Run) -> None:
    done = run("task=doctor", "filter=icc", "downstream=captioner")
    assert done.returncode == 0, done.stderr
    for what in ("pool", "coco", "classes"):
        assert re.search(rf"^first use +{what}\b", done.stdout, re.MULTILINE), what
    assert re.search(r"^there +filter=icc, downstream=captioner, ", done.stdout, re.MULTILINE)
    assert re.search(r"^in total +648 MB to be fetched or drawn", done.stdout, re.MULTILINE)
    assert list(cache_dir().rglob("*.json")) == list(cache_folder("trials").iterdir())


@pytest.mark.parametrize("name", ["laion400m_8m", "my_LAION-2B-en", "relaion2B-en-research-safe"])
def test_doctor_points_users_of_withdrawn_lists_to_the_re_released_one(
    name: str, run: Run, tmp_path: Path
) -> None:
    write_metadata(tmp_path / "pool" / "a.parquet", rows(5))
    done = run("task=doctor", "pool=img2dataset", f"pool.name={name}", f"pool.url={tmp_path / 'pool'}")
    assert ("Re-LAION-5B (https://laion.ai/blog/relaion-5b)" in " ".join(done.stdout.split())) == (
        "relaion" not in name
    )


def test_doctor_ends_with_commands_for_a_whole_sweep(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings are written as they were typed; only commands, paths and URLs are wider than the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    parser = ["filter.parser=en_core_web_none", "models.captioner.decoder=gpt2", "metrics=[spice,polos]"]
    given = [setting.replace("budget=50", "budget=0.05k") for setting in chain(folder, *parser)]
    command = ["filter=complexity_action,informativeness", *given, "size=[5,6]"]
    done = run("task=doctor", *command)
    assert (done.returncode, done.stdout.count("What this command needs")) == (2, 1)
    needs, _, remedies = done.stdout.partition("To get what is missing:\n")
    fetch, download = remedies.splitlines()
    assert fetch == shlex.join(["python", "-m", "benchmark", "task=fetch", *command])
    assert download.endswith(f"{sys.executable} -m spacy download en_core_web_none")
    assert "Polos needs its authors' weights: unzip https://" in " ".join(needs.split())
    assert [line for line in needs.splitlines() if len(line) > 80 and len(line.split()) > 1] == []


@pytest.fixture(scope="module")
def opt(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A decoder that cannot look at an image."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    config = transformers.OPTConfig(vocab_size=400, ffn_dim=64, word_embed_proj_dim=32, **sizes)
    folder = save_decoder(tmp_path_factory.mktemp("opt"), transformers.OPTForCausalLM(config))
    return f"models.captioner.decoder={folder}"


def test_every_model_that_does_not_fit_has_a_line(run: Run, folder: Path, opt: str) -> None:
    text = opt.replace("models.captioner.decoder", "models.dual_encoder.text")
    command = chain(folder, "filter=random", opt, text)
    assert_refused(run(*command), f"{opt} (opt) must be", f"{text} (opt) must be")
    done = run(*command[:-1], "task=doctor")
    assert done.returncode == 2
    assert re.search(r"^no +captioner \(trial\)$", done.stdout, re.MULTILINE)
    assert "trial (dual_encoder)" in " ".join(done.stdout.split())
    assert "error: this command cannot run without captioner; see the list" in done.stderr


def test_commands_that_do_not_train_try_nothing(run: Run, folder: Path, opt: str) -> None:
    for extra in ("task=select", "plan=true"):
        make_job(*chain(folder, "filter=random", opt, extra)).check()
    assert not cache_folder("trials").exists()


def test_fetched_checkpoints_are_tried_before_scoring(folder: Path, opt: str) -> None:
    """As if the check had found that they will be fetched."""
    job = make_job(*chain(folder, "filter=random", "downstream=captioner", opt, "task=train"))
    job.checked = True
    with pytest.raises(UserError, match=r"\(opt\) must be"):
        job.run()
    assert not cache_folder("scores").exists()


def test_a_size_counts_no_failed_downloads(run: Run, tmp_path: Path) -> None:
    status = pa.array(["success", "failed_to_download", None, "success", "failed_to_resize"])
    write_metadata(tmp_path / "pool" / "0.parquet", rows(5), status=status)
    command = ["task=select", "pool=img2dataset", f"pool.url={tmp_path / 'pool'}", "filter=random"]
    line = "size asks for 4 pairs, but pool img2dataset lists 3 whose download did not fail; choose size=3 or less"
    assert_refused(run(*command, "size=4", "engine.workers=1"), line)
    assert run(*command, "size=3", "engine.workers=1").returncode == 0
