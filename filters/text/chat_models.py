"""Chat models that answer one question a caption: behind an OpenAI-compatible endpoint, or on this machine."""

import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import torch

from benchmark.core.errors import UserError
from benchmark.models.checkpoints import locate_checkpoint

KEY = "OPENAI_API_KEY"
LONGEST_ANSWER = 16  # tokens
TRIES = 4
LONGEST_WAIT = 30.0  # seconds before another try, whatever the endpoint asks for
BUSY = frozenset({408, 409, 429, 500, 502, 503, 504})
log = logging.getLogger(__name__)


class ChatModel(Protocol):
    """Answers questions, greedily."""

    def answer(self, system: str, questions: Sequence[str]) -> list[str]:
        """Return one answer a question."""


class EndpointChat:
    """A model behind ``{endpoint}/chat/completions``; the key comes from the environment and goes nowhere else.

    Args:
        endpoint: base URL, with its ``/v1`` where the server has one.
        model: the name that the server knows it by.
        concurrency: requests at a time.
        timeout: seconds for one request.
    """

    def __init__(self, endpoint: str, model: str, concurrency: int = 8, timeout: float = 60.0) -> None:
        import httpx

        key = os.environ.get(KEY)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.endpoint, self.model, self.concurrency = endpoint.rstrip("/"), model, concurrency
        try:
            self._client = httpx.Client(base_url=self.endpoint, headers=headers, timeout=timeout)
        except (httpx.InvalidURL, ValueError) as error:
            raise UserError(f"filter.endpoint={endpoint} is no URL: {error}") from None
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs a line a request

    def answer(self, system: str, questions: Sequence[str]) -> list[str]:
        """Return one answer a question, in their order. Raises `UserError` when the endpoint refuses or is away."""
        with ThreadPoolExecutor(self.concurrency) as pool:
            asked = [pool.submit(self._ask, system, question) for question in questions]
            try:
                return [future.result() for future in asked]
            finally:
                for future in asked:  # after a failure the others need not be asked
                    future.cancel()

    def _ask(self, system: str, question: str) -> str:
        import httpx

        request = {
            "model": self.model,
            "messages": _messages(system, question),
            "temperature": 0,
            "max_tokens": LONGEST_ANSWER,
        }
        failure = ""
        for attempt in range(TRIES):
            wait = 2.0**attempt
            try:
                response = self._client.post("/chat/completions", json=request)
            except httpx.UnsupportedProtocol as error:
                raise UserError(f"filter.endpoint={self.endpoint}: {error}") from None
            except httpx.TransportError as error:
                failure = f"{type(error).__name__} {error}".strip()
            else:
                if response.status_code not in BUSY:
                    return self._read(response)
                failure = f"HTTP {response.status_code}"
                wait = _asked_for(response.headers.get("retry-after"), wait)
            if attempt + 1 < TRIES:
                time.sleep(min(wait, LONGEST_WAIT))
        raise UserError(f"endpoint {self.endpoint} did not answer {TRIES} times: {failure}; try again later")

    def _read(self, response: Any) -> str:
        if response.status_code in (401, 403):
            raise UserError(f"endpoint {self.endpoint} refuses the key; set {KEY} to a valid one")
        if response.status_code != 200:
            reason = " ".join(response.text[:200].split())
            raise UserError(f"endpoint {self.endpoint} answers HTTP {response.status_code}: {reason}")
        try:
            return str(response.json()["choices"][0]["message"]["content"] or "")
        except (ValueError, LookupError, TypeError):
            raise UserError(
                f"endpoint {self.endpoint} does not answer as OpenAI's chat completions do"
            ) from None


def _asked_for(header: str | None, otherwise: float) -> float:
    """Return the seconds of a Retry-After header; it may also hold a date, which is not waited for."""
    try:
        return float(header) if header is not None else otherwise
    except ValueError:
        return otherwise


def _messages(system: str, question: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


class LocalChat:
    """A causal language model with a chat template, decoding greedily: bf16 on a GPU.

    Args:
        checkpoint: folder or hub name.
    """

    def __init__(self, checkpoint: str, device: torch.device) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        folder = locate_checkpoint(checkpoint)
        # Answers follow their questions at once only where the padding stands before them.
        self._tokenizer: Any = AutoTokenizer.from_pretrained(
            folder, padding_side="left", local_files_only=True
        )
        if not self._tokenizer.chat_template:
            raise UserError(f"checkpoint {checkpoint} has no chat template; give a chat (instruct) model")
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True)
        self._model = model.to(device).eval()

    @torch.inference_mode()
    def answer(self, system: str, questions: Sequence[str]) -> list[str]:
        """Return one answer a question, in their order."""
        inputs = self._tokenizer.apply_chat_template(
            [_messages(system, question) for question in questions],
            add_generation_prompt=True,
            padding=True,
            return_dict=True,
            return_tensors="pt",
        ).to(self._model.device)
        ids = self._model.generate(
            **inputs,
            max_new_tokens=LONGEST_ANSWER,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            pad_token_id=self._tokenizer.pad_token_id,
        )
        answers = ids[:, inputs["input_ids"].shape[1] :]
        return list(self._tokenizer.batch_decode(answers, skip_special_tokens=True))
