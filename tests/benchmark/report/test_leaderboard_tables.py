from benchmark.report.leaderboard_tables import leaderboard, to_markdown
from benchmark.results.result import DownstreamResult, Result, Stage, read_results, write_result


def metric(name: str, value: float | None, reason: str | None = None) -> dict:
    return {"name": name, "value": value, "reason": reason, "count": 10, "version": "v"}


def result(name: str, size: int = 200_000, seed: int = 0, cider: float = 0.5, r1: float = 0.1) -> Result:
    captions = [metric("CIDEr", cider), metric("SPICE", None, "no models"), metric("BERTScore", 0.8)]
    return Result(
        run_id=f"demo-{name}-{size}-{seed}",
        filter=name,
        size=size,
        k=size // 100,
        pool="demo",
        seed=seed,
        selection={
            "threshold": 0.25,
            "scored": 79_000,
            "drops": {"no_score": 1_000},
            "config": {"_target_": name, "seed": seed},
        },
        downstream={
            "captioner": DownstreamResult("c", {"samples_seen": 100}, {"coco": captions}),
            "dual_encoder": DownstreamResult("d", {}, {"coco": [metric("text_to_image_R@1", r1)]}),
        },
        stages={"select": Stage(1.0, 1.0, "cpu", 1.0)},
        config={},
        kept={"concrete": 15, "parrot": 5},
        scoring={"seconds": 12.5},
    )


def test_a_result_is_read_back_as_it_was(tmp_path) -> None:
    path = write_result(tmp_path, result("clip"))
    assert path.name == "demo-clip-200000-0.json"
    (tmp_path / "other.json").write_text('{"schema_version": 0}')
    assert read_results(tmp_path) == [result("clip")]


def test_rows_are_ordered_by_size_then_as_in_the_paper() -> None:
    found = [result(n, s) for n in ("oracle", "clip", "random", "zeta") for s in (200_000, 100_000)]
    rows = leaderboard(found)[0].rows
    names = ["random", "clip", "zeta", "oracle"]
    assert [row[:2] for row in rows] == [[n, s] for s in ("100k", "200k") for n in names]


def test_cells_by_hand() -> None:
    table = leaderboard(
        [result("random", cider=0.4), result("clip", cider=0.51234), result("oracle", cider=2.0)]
    )[0]
    assert table.header == ["filter", "size", "C", "S", "BSc"]
    assert table.rows[0] == ["random", "200k", "40.0", "–", "**0.800**"]
    assert table.rows[1] == ["clip", "200k", "**51.2**", "–", "**0.800**"]
    assert table.rows[2] == ["oracle", "200k", "200.0", "–", "0.800"]
    assert table.notes == ["S is missing: no models"]


def test_seeds_are_averaged_with_their_spread() -> None:
    table = leaderboard([result("clip", seed=0, cider=0.4), result("clip", seed=1, cider=0.6)])[0]
    assert table.rows == [["clip", "200k", "**50.0 ± 14.1**", "–", "**0.800 ± 0.000**"]]


def test_what_filters_keep() -> None:
    cost, kept = leaderboard([result("clip")])[-2:]
    assert cost.header == ["filter", "size", "kept", "distinct", "threshold", "scoring s", "pairs/s"]
    assert cost.rows == [["clip", "200k", "2,000", "2,000", "0.25", "12.5", "6,400"]]
    assert kept.header == ["filter", "size", "concrete", "parrot"]
    assert kept.rows == [["clip", "200k", "75.0", "25.0"]]


def test_a_selector_and_other_captions_set_a_run_apart() -> None:
    drawn = result("clip")
    drawn.selection |= {
        "selector": "cluster_sorted",
        "selector_config": {"order": "score"},
        "distinct": 2_000,
    }
    described = result("clip")
    described.config["captions"] = {"columns": [], "files": ["described"]}
    tables = leaderboard([result("clip"), drawn, described])
    assert [row[0] for row in tables[0].rows] == ["clip", "clip, cluster_sorted", "clip, other captions"]


def test_classification_and_diversity_in_their_units() -> None:
    found = result("clip")
    classes = [metric("zero_shot", 0.125), metric("linear_probe", None, "the image tower is locked")]
    found.downstream["dual_encoder"].evaluations["classes"] = classes
    found.downstream["captioner"].evaluations["coco"] += [metric("Diversity", 0.5), metric("Unique-2", 83.84)]
    captions, diversity, _, zero_shot = leaderboard([found])[:4]
    assert captions.header == ["filter", "size", "C", "S", "BSc"]
    assert diversity.title == "captioner on coco, pool demo, best reference and diversity"
    assert diversity.header == ["filter", "size", "Div", "U-2"]
    assert diversity.rows == [["clip", "200k", "**50.0**", "**83.8**"]]
    assert zero_shot.header == ["filter", "size", "zero-shot", "probe"]
    assert zero_shot.rows == [["clip", "200k", "**12.5**", "–"]]
    assert zero_shot.notes == ["probe is missing: the image tower is locked"]


def test_rows_of_one_name_tell_what_sets_them_apart() -> None:
    def run(seed: int, encoder: str, **settings: object) -> Result:
        found = result("vas", seed=seed)
        found.selection["config"] |= settings
        found.config |= {
            "models": {"captioner": {"encoder": encoder}},
            "downstream": {"captioner": {"encoder": encoder, "training": {"seed": seed, "workers": seed}}},
        }
        return found

    found = [
        run(0, "/a/swin", target=None),
        run(1, "/b/swin", target=None),
        run(0, "/a/swin", target="x/coco.npy"),
    ]
    rows = leaderboard(found)[0].rows
    assert [row[0] for row in rows] == ["vas (target=None)", "vas (target=coco.npy)"]
    assert "±" in rows[0][2]
    rows = leaderboard([*found[:2], run(0, "/a/resnet", target=None)])[0].rows
    assert [row[0] for row in rows] == ["vas (encoder=resnet)", "vas (encoder=swin)"]


def test_markdown_escapes_cells() -> None:
    tables = leaderboard([result("a|b")])
    assert "| a\\|b | 200k |" in to_markdown(tables)
