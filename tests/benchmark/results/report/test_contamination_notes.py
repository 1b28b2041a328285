from benchmark.results.report.entry_facts import contamination_notes
from benchmark.results.report.leaderboard import group
from benchmark.results.result import Contamination
from tests.benchmark.results.report.made_results import result


def notes(**found: Contamination) -> list[str]:
    return contamination_notes(group([result("clip", contamination=found)]))


def test_kept_evaluation_images_are_named_with_the_filter() -> None:
    assert notes(coco=Contamination(9, 2), nocaps=Contamination(1, 0, 4, 3), flickr=Contamination(8, 0)) == [
        "Evaluation images: clip keeps 2 pairs with the bytes of an image of coco.",
        "Evaluation images: clip keeps 0 pairs with the bytes of an image of nocaps, and 3 near one.",
    ]


def test_no_kept_evaluation_image_is_said_too() -> None:
    assert notes(coco=Contamination(9, 0)) == [
        "Evaluation images: no kept pair has one (by bytes; near-duplicates were not looked for)."
    ]
    (checked,) = notes(coco=Contamination(9, 0, 3, 0))
    assert checked.endswith("(by bytes and by CLIP embeddings).")
    assert notes() == []
