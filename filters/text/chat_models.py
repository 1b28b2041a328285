"""Chat models: behind an OpenAI-compatible endpoint, or on this machine."""

import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import httpx2

from benchmark.core.devices import Device, default_dtype
from benchmark.core.errors import UserError
from benchmark.models.checkpoints import decode_greedily, load_model, load_pretrained

KEY = "OPENAI_API_KEY"
MAX_ANSWER_TOKENS = 16
MAX_ATTEMPTS = 7  # with a minute of waiting in all: limits of endpoints are per minute
RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504})
log = logging.getLogger(__name__)


class ChatModel(Protocol):
    """Answers questions, greedily."""

    def answer(self, system: str, questions: Sequence[str]) -> list[str]:
        """Return one answer per question, in order."""


class EndpointChat:
    """A model behind ``{endpoint}/chat/completions``. The API key is read from the environment and never stored.

    Args:
        endpoint: base URL, including ``/v1`` if the server has it.
        model: the server's name of the model.
        concurrency: number of concurrent requests.
        timeout: seconds per request.
    """

    def __init__(self, endpoint: str, model: str, concurrency: int = 8, timeout: float = 60.0) -> None:
        key = os.environ.get(KEY)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.endpoint, self.model, self.concurrency = endpoint.rstrip("/"), model, concurrency
        try:
            self._client = httpx2.Client(base_url=self.endpoint, headers=headers, timeout=timeout)
        except (httpx2.InvalidURL, ValueError) as error:
            raise UserError(f"filter.endpoint={endpoint} must be a URL: {error}") from None
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs every request

    def answer(self, system: str, questions: Sequence[str]) -> list[str]:
        """Return one answer per question, in order. Raises `UserError` when the endpoint fails or is unreachable."""
        with ThreadPoolExecutor(self.concurrency) as pool:
            futures = [pool.submit(self._ask, system, question) for question in questions]
            try:
                return [future.result() for future in futures]
            finally:
                for future in futures:  # after a failure the remaining requests are useless
                    future.cancel()

    def _ask(self, system: str, question: str) -> str:
        request = {
            "model": self.model,
            "messages": _messages(system, question),
            "temperature": 0,
            "max_tokens": MAX_ANSWER_TOKENS,
        }
        failure = ""
        for attempt in range(MAX_ATTEMPTS):
            try:
                response = self._client.post("/chat/completions", json=request)
            except httpx2.UnsupportedProtocol as error:
                raise UserError(f"filter.endpoint={self.endpoint}: {error}") from None
            except httpx2.TransportError as error:
                failure = f"{type(error).__name__} {error}".strip()
            else:
                if response.status_code not in RETRYABLE:
                    return self._read(response)
                failure = f"HTTP {response.status_code}"
            if attempt + 1 < MAX_ATTEMPTS:
                time.sleep(2.0**attempt)
        raise UserError(
            f"filter.endpoint={self.endpoint} did not answer {MAX_ATTEMPTS} times: {failure}; try again later"
        )

    def _read(self, response: Any) -> str:
        if response.status_code in (401, 403):
            raise UserError(f"filter.endpoint={self.endpoint} refuses the key; set {KEY} to a valid one")
        if response.status_code != 200:
            reason = " ".join(response.text[:200].split())
            raise UserError(f"filter.endpoint={self.endpoint} answers HTTP {response.status_code}: {reason}")
        try:
            return str(response.json()["choices"][0]["message"]["content"] or "")
        except (ValueError, LookupError, TypeError):
            raise UserError(
                f"filter.endpoint={self.endpoint} must answer in the format of OpenAI's chat completions"
            ) from None


def _messages(system: str, question: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


class LocalChat:
    """A causal language model with a chat template, decoding greedily, in bf16 on a GPU that computes it.

    Args:
        checkpoint: folder or hub name.
        device: device of the model.
    """

    def __init__(self, checkpoint: str, device: Device) -> None:
        # Padding on the left, so that each answer directly follows its question.
        self._tokenizer = load_pretrained("AutoTokenizer", checkpoint, padding_side="left")
        if not self._tokenizer.chat_template:
            raise UserError(
                f"filter.model={checkpoint} must have a chat template; give a chat (instruct) model"
            )
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        dtype = default_dtype(device)
        self._model = load_model("AutoModelForCausalLM", checkpoint, dtype=dtype).to(device).eval()

    def answer(self, system: str, questions: Sequence[str]) -> list[str]:
        """Return one answer per question, in their order."""
        inputs = self._tokenizer.apply_chat_template(
            [_messages(system, question) for question in questions],
            add_generation_prompt=True,
            padding=True,
            return_dict=True,
            return_tensors="pt",
        ).to(self._model.device)
        ended = {"max_new_tokens": MAX_ANSWER_TOKENS, "pad_token_id": self._tokenizer.pad_token_id}
        ids = decode_greedily(self._model, **inputs, **ended)
        answers = ids[:, inputs["input_ids"].shape[1] :]
        return list(self._tokenizer.batch_decode(answers, skip_special_tokens=True))
