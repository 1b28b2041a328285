import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from benchmark.core.errors import UserError
from benchmark.core.records import Schema, read_records, write_record


@dataclass(frozen=True)
class Part:
    values: tuple[float, ...]
    note: str | None = None

    def __post_init__(self) -> None:
        if len(self.values) > 3:
            raise ValueError("at most three values")


@dataclass(frozen=True)
class Sample:
    SCHEMA: ClassVar[Schema] = Schema("sample", 3, "samples", "make samples")

    run_id: str
    parts: dict[str, list[Part]]


MADE = Sample("one", {"a": [Part((1, 2.5)), Part((), "none")]})


def change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_a_record_is_read_back_as_it_was(tmp_path: Path) -> None:
    path = write_record(tmp_path, MADE)
    assert path == tmp_path / "samples" / "one.json"
    data = json.loads(path.read_text())
    assert (data["kind"], data["schema_version"]) == ("sample", 3)
    assert read_records(tmp_path, Sample) == [MADE]
    assert read_records(tmp_path / "absent", Sample) == []


def test_other_json_is_ignored(tmp_path: Path) -> None:
    path = write_record(tmp_path, MADE)
    for name, text in (("list", "[]"), ("object", "{}"), ("other", '{"kind": "x", "schema_version": 9}')):
        path.with_stem(name).write_text(text)
    assert read_records(tmp_path, Sample) == [MADE]


def test_older_records_are_left_out_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_record(tmp_path, MADE)
    path.with_stem("first").write_text('{"schema_version": 1, "run_id": "first"}')
    path.with_stem("second").write_text('{"kind": "sample", "schema_version": 2}')
    with caplog.at_level(logging.WARNING):
        assert read_records(tmp_path, Sample) == [MADE]
    (warning,) = caplog.messages
    assert "left out sample records of an older schema (2); run `make samples` again" in warning


def test_a_newer_record_asks_for_an_upgrade(tmp_path: Path) -> None:
    path = write_record(tmp_path, MADE)
    change(path, schema_version=4)
    with pytest.raises(UserError) as error:
        read_records(tmp_path, Sample)
    assert str(error.value) == (
        f"{path} has schema version 4, and this version of pairsift reads sample records up to version 3; upgrade"
        " pairsift, or move the file away"
    )


@pytest.mark.parametrize("version", ["3", None, -1, 2.5])
def test_an_unknown_version_is_one_clear_line(tmp_path: Path, version: object) -> None:
    path = write_record(tmp_path, MADE)
    change(path, schema_version=version)
    with pytest.raises(UserError, match=r"unknown schema version .* reads sample records of version 3; move"):
        read_records(tmp_path, Sample)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"kind": "sample", ', "Expecting property name"),
        ("\ufffe\udcff", "can't decode"),
        ('{"kind": "sample", "schema_version": 3, "run_id": "x"}', "parts: Field required"),
        ('{"schema_version": 3, "run_id": 5, "parts": {}}', "run_id: Input should be a valid string"),
        (
            '{"schema_version": 3, "run_id": "x", "parts": {"a": [{"values": [1, 2, 3, 4]}]}}',
            r"parts\.a\.0: Value error, at most three values",
        ),
    ],
)
def test_a_damaged_record_is_one_clear_line(tmp_path: Path, text: str, reason: str) -> None:
    path = write_record(tmp_path, MADE)
    path.write_bytes(text.encode("utf-16" if "\ufffe" in text else "utf-8", "surrogatepass"))
    with pytest.raises(
        UserError, match=rf"one\.json is not a readable sample record .*{reason}.*; move the file"
    ):
        read_records(tmp_path, Sample)
