"""Captions read by a spaCy pipeline: parts of speech, and dependencies where they are wanted."""

import hashlib
import importlib.metadata
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.identity import Identified

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

T = TypeVar("T")
# What parts of speech need, and a parse; entities, lemmas and categories are not read.
TAGGING = frozenset(
    {"tok2vec", "transformer", "curated_transformer", "tagger", "attribute_ruler", "morphologizer"}
)
PARSING = TAGGING | {"parser"}
LONGEST_CAPTION = 1000  # characters; the text towers and the captioner read fewer


class CaptionParser(Identified):
    """A spaCy pipeline for English, known by its content: the same one in another place reads the same.

    Args:
        name: of an installed pipeline, or the folder of one.
        parse: whether dependencies are wanted beside parts of speech.
    """

    def __init__(self, name: str, *, parse: bool) -> None:
        require("parsing")
        self.name = name
        self.parse = parse
        self._pipeline: Language | None = None

    def identity(self) -> dict[str, Any]:
        """Name the pipeline by its content."""
        return super().identity() | {"name": pipeline_revision(self.name)}

    def setup(self) -> None:
        """Load the pipeline, on the CPU. Raises `UserError` when it is missing or gives less than is wanted."""
        self._pipeline = load_pipeline(self.name, self.parse)

    def read(self, texts: Sequence[str], of: "Callable[[Doc], T]") -> list[T]:
        """Return what `of` makes of each of n captions; one that occurs several times is parsed once.

        Of a caption longer than 1,000 characters the first 1,000 are read.
        """
        assert self._pipeline is not None, "setup comes before read"
        beginnings = [text[:LONGEST_CAPTION] for text in texts]
        distinct = list(dict.fromkeys(beginnings))
        with self._pipeline.memory_zone():  # or every word ever seen would stay in its vocabulary
            docs = self._pipeline.pipe(distinct, batch_size=256)
            found = {text: of(doc) for text, doc in zip(distinct, docs, strict=True)}
        return [found[text] for text in beginnings]


def load_pipeline(name: str, parse: bool = True) -> "Language":
    """Return the installed spaCy pipeline `name`, or that in the folder `name`, with the components of a parse alone.

    Without `parse` it gives parts of speech alone, and faster. Raises `UserError` when it is missing, or gives less
    than that.
    """
    _found(name)
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
            f"filter.parser={name} has no dependency parser or no tagger; en_core_web_sm, for one, has both"
        )
    return pipeline


@lru_cache
def pipeline_revision(name: str) -> str:
    """Return a package's name and version, or a hash of all files of a folder."""
    folder = _found(name)
    if folder is None:
        return f"{name}-{importlib.metadata.version(name)}"
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _found(name: str) -> Path | None:
    """Return the folder of a pipeline, None for an installed package; raise `UserError` where there is neither."""
    require("parsing")
    from spacy.util import is_package

    if is_package(name):
        return None
    folder = Path(name).expanduser()
    if (folder / "config.cfg").is_file():
        return folder
    remedy = "give filter.parser=FOLDER, a spaCy pipeline"
    if not folder.exists() and "/" not in name:
        remedy = f"run `python -m spacy download {name}`, or give filter.parser=FOLDER"
    raise UserError(
        f"filter.parser={name}: no spaCy pipeline is installed under that name or there; {remedy}"
    )
