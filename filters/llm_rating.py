"""LLM rating: a chat model rates how visual a caption is, from 1 to N (ICC paper, appendix A.5; submission, B.1)."""

import logging
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.ranges import PositiveFloat, PositiveInt, checked
from benchmark.core.requirements import Requirement
from benchmark.models.checkpoints import checkpoint_requirement, locate_checkpoint, revision
from filters.base import Filter, Scores
from filters.text.chat_models import ChatModel, EndpointChat, LocalChat

# The system prompt and the question, as printed but for three points. The published version's range is "1-5, when 1
# is non-visual and 10 is highly visual"; the 10 belongs to another of the three ranges that the authors tried (N = 3,
# 5, 10), so here N replaces both. The submission prints one text, whose first paragraph is taken for the system
# prompt, and "Concretenss".
PROMPTS = {
    "published": (
        "You are an expert visual reasoner, capable of understanding the visual concreteness of image {kind}s."
        " A visually concrete {kind} is a {kind} that is highly visual, and can be vividly imagined.",
        "Provide a numerical score on a scale of 1-{n}, when 1 is non-visual and {n} is highly visual {kind}"
        " for the following {kind} : {text}. Only provide the numerical score and nothing else.",
    ),
    "submission": (
        "You are a visual expert and you need to provide visual scores for {kind}s according to how concrete they"
        " are. You answer only using a single integer number on a scale of 1-{n} when 1 means the {kind} is highly"
        " abstract and {n} is a highly concrete {kind}.",
        "Input {kind}: '{text}'\nConcreteness score is",
    ),
}
MAX_CHARACTERS = 4000  # per caption; servers refuse what does not fit into the model's context
_NUMBER = r"(?<![-\d.])(\d+(?:\.\d+)?)"
log = logging.getLogger(__name__)


@checked
class LlmRating(Filter):
    """Rating by a chat model; NaN, with a count in the log, for an answer without a number from 1 to N.

    The prompt calls a text of one word a "word", as in the paper's word benchmark.

    Args:
        model: the endpoint's name of the model; without an endpoint, folder or hub name of a chat model.
        endpoint: base URL of any OpenAI-compatible server; its key is read from ``OPENAI_API_KEY``.
        n: highest rating; the paper reports 5.
        prompt: ``published``, or ``submission`` for that of the paper as it was submitted.
        concurrency: number of concurrent requests.
        timeout: seconds per request.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 64

    def __init__(
        self,
        model: str,
        endpoint: str | None = None,
        n: Literal[3, 5, 10] = 5,
        prompt: Literal["published", "submission"] = "published",
        concurrency: PositiveInt = 8,
        timeout: PositiveFloat = 60.0,
    ) -> None:
        self.model = model
        self.endpoint = endpoint
        self.n = n
        self.prompt = prompt
        self._concurrency = concurrency
        self._timeout = timeout
        self._chat: ChatModel | None = None

    def identity(self) -> dict[str, Any]:
        """Name a local model by its revision; a served model is known by its name only."""
        local = {} if self.endpoint else {"model": revision(locate_checkpoint(self.model))}
        return super().identity() | local

    def requirements(self) -> Iterator[Requirement]:
        """Yield a local model; whether a server has its model is known when it answers."""
        if not self.endpoint:
            yield checkpoint_requirement(self.model)

    def setup(self, device: Device) -> None:
        """Connect or load. Raises `UserError` when the model is not available."""
        if self.endpoint:
            self._chat = EndpointChat(self.endpoint, self.model, self._concurrency, self._timeout)
        else:
            self._chat = LocalChat(self.model, device)

    def score(self, batch: Batch) -> Scores:
        """Return ratings of shape (n,)."""
        ratings = np.full(len(batch), np.nan, np.float32)
        # One group per system prompt: a text's answer must not depend on the other texts of the batch.
        for kind in ("word", "caption"):
            rows = [row for row, text in enumerate(batch.texts) if _kind(text) == kind]
            if rows:
                ratings[rows] = self._rate(kind, [batch.texts[row] for row in rows])
        return ratings

    def _rate(self, kind: str, texts: list[str]) -> list[float]:
        assert self._chat is not None
        system, question = PROMPTS[self.prompt]
        questions = [question.format(n=self.n, kind=kind, text=text[:MAX_CHARACTERS]) for text in texts]
        answers = self._chat.answer(system.format(n=self.n, kind=kind), questions)
        ratings = [parse_rating(answer, self.n) for answer in answers]
        unrated = [answer for answer, rating in zip(answers, ratings, strict=True) if np.isnan(rating)]
        if unrated:
            lost = f"{len(unrated)} of {len(answers)} answers"
            log.warning(
                "llm_rating: %s hold no rating from 1 to %d, such as %r", lost, self.n, unrated[0][:60]
            )
        return ratings


def _kind(text: str) -> str:
    return "word" if len(text.split()) == 1 else "caption"


def parse_rating(answer: str, n: int) -> float:
    """Return the only number of an answer (``4``, ``4/5``, ``4 out of 5``); NaN unless it is from 1 to `n`."""
    match = re.fullmatch(rf"\D*?{_NUMBER}(?:\s*(?:/|out of)\s*{n}(?!\d))?\D*", answer)
    rating = float(match[1]) if match else float("nan")
    return rating if 1 <= rating <= n else float("nan")
