import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from benchmark.core.records import Schema, json_text, read_records, scan_records, write_record


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
OLDER = '{"kind": "sample", "schema_version": 2}'


def test_a_record_is_read_back_without_credentials(tmp_path: Path) -> None:
    path = write_record(tmp_path, MADE)
    assert path == tmp_path / "samples" / "one.json"
    data = json.loads(path.read_text())
    assert (data["kind"], data["schema_version"]) == ("sample", 3)
    assert read_records(tmp_path / "absent", Sample) == []
    write_record(tmp_path, Sample("two", {"a": [Part((), "https://me:secret@host/pool?sig=123")]}))
    shown = Sample("two", {"a": [Part((), "https://***@host/pool?***")]})
    assert read_records(tmp_path, Sample) == [MADE, shown]


def left_out(folder: Path) -> dict[str, str]:
    records, files = scan_records(folder, Sample)
    assert list(records.values()) == [MADE]
    return {file.path.name: file.reason for file in files}


def test_files_of_one_reason_have_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_record(tmp_path, MADE)
    for name, text in {"first": OLDER, "second": OLDER, "third": "{"}.items():
        path.with_stem(name).write_text(text)
    assert read_records(tmp_path, Sample) == [MADE]
    assert [message.split(": ")[0] for message in caplog.messages] == [
        f"left out {path.with_stem('first')} and 1 more", f"left out {path.with_stem('third')}"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "JSON, but no sample record"),
        ('{"kind": 5, "schema_version": 3}', "JSON, but no sample record"),
        ("\ufffe\udcff", "can't decode"),
        ("[" * 100_000, "not readable as JSON"),
        (OLDER, "sample record of the older schema version 2; run `make samples` again"),
        (
            '{"kind": "sample", "schema_version": 4}',
            "schema version 4, and this version of pairsift reads sample records up to version 3; upgrade",
        ),
        ('{"kind": "sample", "schema_version": "3"}', "unknown schema version '3'"),
        ('{"kind": "sample", "schema_version": -1}', "unknown schema version -1"),
        ('{"kind": "sample", "schema_version": 3, "run_id": "x"}', "parts: Field required"),
        (
            '{"kind": "sample", "schema_version": 3, "run_id": 5, "parts": {}}',
            "run_id: Input should be a valid string",
        ),
        (
            '{"kind": "sample", "schema_version": 3, "run_id": "x", "parts": {"a": [{"values": [1, 2, 3, 4]}]}}',
            "parts.a.0: Value error, at most three values",
        ),
    ],
)
def test_an_unreadable_file_is_left_out_with_its_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = write_record(tmp_path, MADE).with_stem("broken")
    path.write_bytes(text.encode("utf-16" if "\ufffe" in text else "utf-8", "surrogatepass"))
    (found,) = left_out(tmp_path).items()
    assert found[0] == "broken.json"
    assert reason in found[1]


def test_other_kinds_are_ignored_and_what_is_no_file_of_records_is_named(tmp_path: Path) -> None:
    path = write_record(tmp_path, MADE)
    path.with_stem("other").write_text('{"kind": "x", "schema_version": 9}')
    path.with_stem("report").write_text('{"kind": "report"}')
    assert left_out(tmp_path) == {}
    path.with_name(".one.0123.json").write_text(path.read_text())  # killed before it was renamed
    path.with_stem("cut").write_text(path.read_text()[:40])
    path.with_stem("changed").write_text(path.read_text().replace("2.5", "7.5"))
    path.with_stem("folder").mkdir()
    assert {name: reason[:20] for name, reason in left_out(tmp_path).items()} == {
        ".one.0123.json": "half-written by a ru",
        "changed.json": "changed since it was",
        "cut.json": "not readable as JSON",
        "folder.json": "not readable as JSON",
    }


def test_json_has_no_infinity() -> None:
    text = json_text({"a": [float("inf"), (float("nan"), 1.5)], "b": {"c": float("-inf")}})
    assert json.loads(text) == {"a": [None, [None, 1.5]], "b": {"c": None}}
