from benchmark.report import leaderboard, to_markdown
from benchmark.results import DownstreamResult, Result, Stage, read_results, write_result


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
        selection={"threshold": 0.25, "scored": 80_000, "config": {"_target_": name, "seed": seed}},
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
    assert cost.header == ["filter", "size", "kept", "threshold", "scoring s", "pairs/s"]
    assert cost.rows == [["clip", "200k", "2,000", "0.25", "12.5", "6,400"]]
    assert kept.header == ["filter", "size", "concrete", "parrot"]
    assert kept.rows == [["clip", "200k", "75.0", "25.0"]]


def test_markdown_escapes_cells() -> None:
    tables = leaderboard([result("a|b")])
    assert "| a\\|b | 200k |" in to_markdown(tables)
