from pairsift.studies.icc.concreteness.correlation import Correlation
from pairsift.studies.icc.concreteness.evaluation import ConcretenessEvaluation
from pairsift.studies.icc.concreteness.tables import concreteness_tables
from tests.benchmark.results.report.made_results import texts


def evaluation(
    name: str, value: float | None, benchmark: str = "captions", **changes
) -> ConcretenessEvaluation:
    config = changes.pop("config", {})
    c = Correlation(value, value and abs(value), value and value - 0.1, value and value + 0.1, 1000)
    absent = Correlation(None, reason="all scores are equal")
    found = dict.fromkeys(("pearson", "spearman", "kendall"), absent if value is None else c)
    fields = {"total": 500, "count": 500, "unscored": 0, "seed": 0, "seconds": 1.0} | changes
    return ConcretenessEvaluation(benchmark, "a.csv", "ab", name, config, "key", correlations=found, **fields)


def tables(*evaluations: ConcretenessEvaluation) -> dict:
    return {t.title: t for t in concreteness_tables(evaluations)}


BY_METHOD = "Absolute correlation with ratings of concreteness (as Table 3)"
BY_STEP = "Before and after distillation (as Table 4)"
BY_PART = "Parts of the pipelines (as Table 6)"
SIGNED = "Correlation on {}, signed, with 95% bootstrap intervals"


def test_methods_are_rows_as_in_table_3() -> None:
    clip = evaluation("clip_stroop", -0.34), evaluation("clip_stroop", 0.62, "words")
    found = tables(evaluation("icc", 0.725), *clip)
    table = found[BY_METHOD]
    assert table.header == [
        "method", "words ρ", "words ρ_s", "words τ", "captions ρ", "captions ρ_s", "captions τ",
    ]  # fmt: skip
    assert texts(table) == [
        ["clip_stroop", *["**0.620**"] * 3, *["0.340"] * 3],
        ["icc", *["–"] * 3, *["**0.725**"] * 3],
    ]
    assert BY_STEP not in found
    signed = found[SIGNED.format("captions")]
    assert texts(signed)[0] == ["clip_stroop", "500", "0", *["-0.340 [-0.44, -0.24]"] * 3]
    assert texts(found[SIGNED.format("words")]) == [["clip_stroop", "500", "0", *["0.620 [0.52, 0.72]"] * 3]]


def test_demo_captions_have_their_own_table_with_the_newest_of_equal_rows() -> None:
    old, new = evaluation("icc", 0.1, finished="2026-01-01"), evaluation("icc", 0.7, finished="2026-01-02")
    for order in ((old, new), (new, old)):
        found = tables(*order, evaluation("icc", 0.5, "demo"), evaluation("random", 0.1, "demo"))
        assert texts(found[BY_METHOD]) == [["icc", *["**0.700**"] * 3]]
        demo = texts(found[BY_METHOD + ", demo captions"])
        assert demo == [["icc", *["**0.500**"] * 3], ["random", *["0.100"] * 3]]


def test_labels_of_one_filter_hold_differing_settings() -> None:
    found = tables(
        evaluation("llm_rating", 0.3, config={"n": 3, "model": "m"}),
        evaluation("llm_rating", 0.4, config={"n": 5, "model": "m"}),
        evaluation("ave_clip", 0.2, count=150),
    )
    assert [row[0] for row in texts(found[BY_METHOD])] == [
        "ave_clip, 150 texts", "llm_rating (n=3)", "llm_rating (n=5)",
    ]  # fmt: skip


def test_distillation_steps_are_rows_as_in_table_4() -> None:
    found = tables(
        evaluation("icc", 0.72, config={"mode": "distilled"}),
        evaluation("icc", 0.65, config={"mode": "direct"}),
        evaluation("sba", 0.6, config={"mode": "distilled"}),
    )
    assert texts(found[BY_STEP]) == [
        ["sba", "after", *["0.600"] * 3],
        ["icc", "before", *["0.650"] * 3],
        ["icc", "after", *["**0.720**"] * 3],
    ]
    table = tables(
        evaluation("sba", 0.5, config={"mode": "direct", "similarity": "edit"}),
        evaluation("sba", 0.6, config={"mode": "direct", "similarity": "bertscore"}),
    )[BY_STEP]  # settings that Table 6 varies are in the labels
    assert [row[0] for row in texts(table)] == ["sba (similarity=bertscore)", "sba (similarity=edit)"]


def test_the_lexicon_is_not_compared_with_its_own_ratings() -> None:
    found = tables(
        evaluation("lexicon", 1.0, "words"), evaluation("icc", 0.7, "words"), evaluation("lexicon", 0.4)
    )
    assert texts(found[BY_METHOD]) == [
        ["lexicon", *["–"] * 3, *["**0.400**"] * 3],
        ["icc", *["**0.700**"] * 3, *["–"] * 3],
    ]
    assert found[BY_METHOD].notes == ["lexicon on words is left out: the lexicon is made of those ratings"]
    assert texts(found[SIGNED.format("words")])[0][:3] == ["lexicon", "500", "0"]


def test_parts_of_pipelines_are_rows_as_in_table_6() -> None:
    sba = {"mode": "direct", "similarity": "edit", "llm": "/models/hub/meta-llama/Llama-2-7b"}
    captioner = {"checkpoint": "Salesforce/blip2-opt-2.7b"}
    vba = {"mode": "direct", "similarity": "bertscore", "captioner": captioner}
    found = tables(
        evaluation("vba", 0.6, config=vba),
        evaluation("sba", 0.53, config=sba),
        evaluation("sba", 0.57, config=sba | {"similarity": "bertscore"}),
        evaluation("sba", 0.9, config={"mode": "distilled", "similarity": "edit"}),
    )
    table = found[BY_PART]
    assert table.header[:3] == ["pipeline", "model", "similarity"]
    assert [row[:4] for row in texts(table)] == [
        ["sba", "meta-llama/Llama-2-7b", "BSc", "0.570"],
        ["sba", "meta-llama/Llama-2-7b", "ED", "0.530"],
        ["vba", "Salesforce/blip2-opt-2.7b", "BSc", "**0.600**"],
    ]


def test_a_missing_correlation_has_its_reason_in_a_note() -> None:
    found = tables(evaluation("icc", None))
    assert texts(found[BY_METHOD]) == [["icc", "–", "–", "–"]]
    assert found[BY_METHOD].notes == ["icc on captions is missing: all scores are equal"]
    assert texts(found[SIGNED.format("captions")]) == [["icc", "500", "0", "–", "–", "–"]]
    assert concreteness_tables([]) == []
