"""Parts of speech and dependency parses of captions, by a spaCy pipeline."""

import importlib.metadata
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmark.core.errors import UserError
from benchmark.core.extras import packages_command, require
from benchmark.core.identity import Identified
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, look
from benchmark.models.checkpoints import hash_files

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

T = TypeVar("T")
# The components that tagging and parsing need; those for entities, lemmas and categories are disabled.
TAGGING = frozenset(
    {"tok2vec", "transformer", "curated_transformer", "tagger", "attribute_ruler", "morphologizer"}
)
PARSING = TAGGING | {"parser"}
MAX_CHARACTERS = 1000  # per caption; text towers and captioners read fewer


class CaptionParser(Identified):
    """A spaCy pipeline for English, identified by its content, not its path.

    Args:
        name: name of an installed pipeline, or the path of one.
        parse: whether to parse dependencies in addition to tagging parts of speech.
    """

    def __init__(self, name: str, *, parse: bool) -> None:
        require("parsing")
        self.name = name
        self.parse = parse
        self._pipeline: Language | None = None

    def identity(self) -> dict[str, Any]:
        """Identify the pipeline by its content."""
        return super().identity() | {"name": pipeline_revision(self.name)}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the pipeline."""
        yield look(f"parser {self.name}", lambda: pipeline_revision(self.name))

    def setup(self) -> None:
        """Load the pipeline, on the CPU. Raises `UserError` when it is missing or lacks a component."""
        self._pipeline = load_pipeline(self.name, self.parse)

    def read(self, texts: Sequence[str], extract: "Callable[[Doc], T]") -> list[T]:
        """Return ``extract(doc)`` of n parsed captions, cut to `MAX_CHARACTERS`; equal ones are parsed once."""
        assert self._pipeline is not None, "setup comes before read"
        truncated = [text[:MAX_CHARACTERS] for text in texts]
        distinct = list(dict.fromkeys(truncated))
        with self._pipeline.memory_zone():  # otherwise every word ever seen stays in its vocabulary
            docs = self._pipeline.pipe(distinct, batch_size=256)
            extracted = {text: extract(doc) for text, doc in zip(distinct, docs, strict=True)}
        return [extracted[text] for text in truncated]


def load_pipeline(name: str, parse: bool = True) -> "Language":
    """Return the installed spaCy pipeline `name`, or the one in the folder `name`, without unneeded components.

    Without `parse` it only tags parts of speech, which is faster. Raises `UserError` when it is missing or lacks a
    needed component.
    """
    _locate(name)
    import spacy

    try:
        pipeline = spacy.load(name)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise UserError(f"filter.parser={name} cannot be loaded by spaCy: {reason}") from None
    needed = PARSING if parse else TAGGING
    unneeded = [part for part in pipeline.pipe_names if pipeline.get_pipe_meta(part).factory not in needed]
    pipeline.disable_pipes(*unneeded)
    probe = pipeline("A dog runs.")
    if not (probe.has_annotation("POS") and (probe.has_annotation("DEP") or not parse)):
        raise UserError(
            f"filter.parser={name} must have a tagger and a dependency parser, as en_core_web_sm has"
        )
    return pipeline


@lru_cache
def pipeline_revision(name: str) -> str:
    """Return a package's name and version, or a hash of all files of a folder."""
    folder = _locate(name)
    if folder is None:
        return f"{name}-{importlib.metadata.version(name)}"
    return hash_files(folder, folder.rglob("*"))


def _locate(name: str) -> Path | None:
    """Return the folder of a pipeline, None for an installed package. Raises `UserError` when there is neither."""
    require("parsing")
    with suppress(importlib.metadata.PackageNotFoundError, ValueError):
        importlib.metadata.distribution(name)  # as spaCy does, without its import of torch
        return None
    folder = user_path(name)
    if (folder / "config.cfg").is_file():
        return folder
    remedy = "give filter.parser=FOLDER"
    if not folder.exists() and "/" not in name:
        remedy = f"run `{_download_command(name)}`, or give filter.parser=FOLDER"
    raise UserError(
        f"filter.parser={name} must be an installed spaCy pipeline or the folder of one; {remedy}"
    )


def _download_command(name: str) -> str:
    command = f"{shlex.quote(sys.executable)} -m spacy download {name}"
    # spaCy calls pip, which environments of uv lack.
    return command if find_spec("pip") else f"{packages_command('pip')} && {command}"
