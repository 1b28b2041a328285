import pytest

from benchmark.core.errors import UserError
from downstream.evaluation.captioning import read_coco_results


def test_the_first_row_of_an_image_counts(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(
        '[{"image_id": 2, "caption": "one", "score": 0.5}, {"image_id": 1, "caption": ""},'
        ' {"image_id": 2, "caption": "two"}]'
    )
    assert read_coco_results(path) == {2: "one", 1: ""}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "cannot be read"),
        ('{"images": []}', "a JSON list of rows, but holds a dict"),
        ('[{"image_id": 1, "caption": "a"}, {"image_id": 1}]', "row 1"),
        ('[{"image_id": 1, "caption": ["a"]}]', "row 0"),
    ],
)
def test_another_file_is_one_line(tmp_path, text, message):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as error:
        read_coco_results(path)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_coco_results(tmp_path / "gone.json")


def test_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('[{"image_id": 1, "caption": "a"}]', encoding="utf-8-sig")
    assert read_coco_results(path) == {1: "a"}
