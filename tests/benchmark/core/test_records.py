import json
import logging
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


def test_a_record_is_read_back_as_it_was(tmp_path: Path) -> None:
    path = write_record(tmp_path, MADE)
    assert path == tmp_path / "samples" / "one.json"
    data = json.loads(path.read_text())
    assert (data["kind"], data["schema_version"]) == ("sample", 3)
    assert read_records(tmp_path, Sample) == [MADE]
    assert read_records(tmp_path / "absent", Sample) == []


def test_a_record_has_no_credentials(tmp_path: Path) -> None:
    secret = Sample("two", {"a": [Part((), "https://me:secret@host/pool?sig=123")]})
    assert "https://***@host/pool?***" in (text := write_record(tmp_path, secret).read_text())
    assert "secret" not in text


def left_out(folder: Path) -> dict[str, str]:
    records, files = scan_records(folder, Sample)
    assert list(records.values()) == [MADE]
    return {file.path.name: file.reason for file in files}


def test_files_of_one_reason_have_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_record(tmp_path, MADE)
    path.with_stem("first").write_text('{"kind": "sample", "schema_version": 1, "run_id": "first"}')
    path.with_stem("second").write_text('{"kind": "sample", "schema_version": 1, "run_id": "second"}')
    path.with_stem("third").write_text("{")
    with caplog.at_level(logging.WARNING):
        assert read_records(tmp_path, Sample) == [MADE]
    first, second = caplog.messages
    assert first == (
        f"left out {path.with_stem('first')} and 1 more: sample record of the older schema version 1; run"
        " `make samples` again"
    )
    assert second.startswith(
        f"left out {path.with_stem('third')}: not readable as JSON: Expecting property name"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "JSON, but no sample record"),
        ('{"kind": 5, "schema_version": 3}', "JSON, but no sample record"),
        ("\ufffe\udcff", "can't decode"),
        ("[" * 100_000, "not readable as JSON"),
        (
            '{"kind": "sample", "schema_version": 2}',
            "sample record of the older schema version 2; run `make samples` again",
        ),
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
    reasons = left_out(tmp_path)
    beginnings = {
        ".one.0123": "half-written",
        "changed": "changed since it was written, as its checksum says",
        "cut": "not readable as JSON",
        "folder": "not readable as JSON: [Errno 21] Is a directory",
    }
    assert [name.removesuffix(".json") for name in reasons] == list(beginnings)
    assert all(reasons[f"{name}.json"].startswith(beginning) for name, beginning in beginnings.items())


def test_json_has_no_infinity() -> None:
    text = json_text({"a": [float("inf"), (float("nan"), 1.5)], "b": {"c": float("-inf")}})
    assert json.loads(text) == {"a": [None, [None, 1.5]], "b": {"c": None}}
