"""Cards of data sets for the Hugging Face hub: Markdown with a YAML header."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.core.sanitize import map_values

FOLDERS = r"^(file://|[\w-]+:)?/(?!/)(?:[^/]*/)*"  # of an absolute path, also in local-dir:/models/clip


def hub_card(
    template: Path, title: str, tags: Sequence[str], data_files: str, header: Mapping[str, Any], **facts: Any
) -> str:
    """Return the card that a jinja template gives for `facts`; `data_files` is the pattern of the files of rows."""
    from huggingface_hub import DatasetCard, DatasetCardData

    data = DatasetCardData(
        pretty_name=title,
        license="other",
        license_name="terms-of-the-pool",
        tags=["image-text-pairs", "data-filtering", *tags, "pairsift"],
        configs=[{"config_name": "default", "data_files": [{"split": "train", "path": data_files}]}],
        **header,
    )
    given = {"code": code_span, "number": "{:,}".format, "text": settings_text} | facts
    return f"{DatasetCard.from_template(data, template_path=str(template), **given)}\n"


def settings_text(settings: Any) -> str:
    """Return settings as JSON, see `without_folders`."""
    return json.dumps(without_folders(settings), indent=2, default=str)


def code_span(text: str) -> str:
    """Return untrusted text as a code span of Markdown, which neither Markdown nor HTML in it can leave.

    Not for tables: a pipe ends their cells even there. Characters that are not printed, like marks that turn the
    direction of writing, are replaced.
    """
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"


def without_folders(settings: Any) -> Any:
    """Return settings with the folders of absolute paths left out: they say where things lie on one machine."""
    return map_values(settings, str, lambda text: re.sub(FOLDERS, r"\1.../", text))
