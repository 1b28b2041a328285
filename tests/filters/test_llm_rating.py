import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.llm_rating import LlmRating, parse_rating
from filters.text import chat_models
from tests.filters.generators import chat_model
from tests.pools import numbered_uids

CPU = torch.device("cpu")


def batch(*texts: str) -> Batch:
    return Batch(numbered_uids(len(texts)), list(texts))


@dataclass
class Server:
    """A server's answers by caption, its failures before them, and the requests that it got."""

    answers: dict[str, str | None] = field(default_factory=dict)
    failures: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    body: bytes | None = None
    seconds: float = 0
    requests: list[dict] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    busy: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def serving(state: Server) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with state.lock:
                state.busy += 1
                state.most_at_once = max(state.most_at_once, state.busy)
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                state.requests.append({"path": self.path, **request})
                state.keys.append(self.headers.get("authorization"))
                status, headers = state.failures.pop(0) if state.failures else (200, {})
            question = request["messages"][-1]["content"]
            answer = next((a for c, a in state.answers.items() if f" : {c}. Only" in question), "?")
            body = state.body or json.dumps({"choices": [{"message": {"content": answer}}]}).encode()
            threading.Event().wait(state.seconds)
            with state.lock:
                state.busy -= 1
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError):  # the client may have given up
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def connected(endpoint: str, **settings) -> LlmRating:
    made = LlmRating("some-model", endpoint, **settings)
    made.setup(CPU)
    return made


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(chat_models.time, "sleep", found.append)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return found


@pytest.mark.parametrize(
    ("answer", "n", "expected"),
    [
        ("4", 5, 4), (" 4.\n", 5, 4), ("4.5", 5, 4.5), ("Score: 3", 5, 3), ("4/5", 5, 4), ("4 out of 5.", 5, 4),
        ("10", 10, 10), ("10/10", 10, 10), ("1", 3, 1),
        ("7", 5, None), ("0", 5, None), ("-3", 5, None), ("", 5, None), ("five", 5, None), ("4/50", 5, None),
        ("on a scale of 1-5 I say 4", 5, None), ("3 4", 5, None), ("4/10", 5, None), ("٤", 5, 4),
        ("9" * 400, 5, None), ("1" + " " * 3000 + "x" * 3000, 5, 1),
    ],
)  # fmt: skip
def test_answers_by_hand(answer: str, n: int, expected: float | None) -> None:
    assert parse_rating(answer, n) == pytest.approx(np.nan if expected is None else expected, nan_ok=True)


PROMPTS = {
    "published": (
        "You are an expert visual reasoner, capable of understanding the visual concreteness of image captions."
        " A visually concrete caption is a caption that is highly visual, and can be vividly imagined.",
        "Provide a numerical score on a scale of 1-10, when 1 is non-visual and 10 is highly visual caption for the"
        " following caption : a red ball. Only provide the numerical score and nothing else.",
    ),
    "submission": (
        "You are a visual expert and you need to provide visual scores for captions according to how concrete they"
        " are. You answer only using a single integer number on a scale of 1-10 when 1 means the caption is highly"
        " abstract and 10 is a highly concrete caption.",
        "Input caption: 'a red ball'\nConcreteness score is",
    ),
}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_papers_prompts_are_sent(prompt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = Server()
    with serving(state) as endpoint:
        connected(endpoint, n=10, prompt=prompt).score(batch("a red ball"))
        monkeypatch.setenv("OPENAI_API_KEY", "abc")
        made = connected(endpoint, n=10, prompt=prompt)
        made.score(batch("a red ball"))
    request = state.requests[0]
    assert (request["path"], request["model"]) == ("/v1/chat/completions", "some-model")
    assert request["temperature"] == 0
    assert [(message["role"], message["content"]) for message in request["messages"]] == [
        *zip(("system", "user"), PROMPTS[prompt], strict=True)
    ]
    assert state.keys == [None, "Bearer abc"]
    assert "abc" not in json.dumps(made.identity())


def test_words_are_called_words_and_an_empty_answer_has_no_rating() -> None:
    state = Server({"hope": "1", "red ball": "5", "a cat": None})
    with serving(state) as endpoint:
        scores = connected(endpoint, concurrency=1).score(batch("hope", "red ball", "a cat"))
    assert scores == pytest.approx([1, 5, np.nan], nan_ok=True)
    questions = sorted(request["messages"][1]["content"] for request in state.requests)
    assert "following caption : red ball." in questions[1]
    assert "highly visual word for the following word : hope." in questions[2]


def test_many_questions_keep_their_order_and_failures_count(caplog: pytest.LogCaptureFixture) -> None:
    captions = [f"caption number {i} {{x}}" for i in range(12)]
    state = Server({c: str(i % 5 + 1) for i, c in enumerate(captions) if i not in (3, 7)}, seconds=0.02)
    with serving(state) as endpoint, caplog.at_level("WARNING"):
        scores = connected(endpoint, concurrency=4).score(batch(*captions))
    expected = [np.nan if i in (3, 7) else i % 5 + 1 for i in range(12)]
    assert scores == pytest.approx(expected, nan_ok=True)
    assert 1 < state.most_at_once <= 4
    assert "2 of 12 answers hold no rating from 1 to 5, such as '?'" in caplog.text


def test_a_busy_server_is_asked_again(waits: list[float]) -> None:
    state = Server({"a ball": "2"}, [(429, {}), (503, {}), (500, {})])
    with serving(state) as endpoint:
        assert connected(endpoint).score(batch("a ball")).tolist() == [2.0]
    assert waits == [1.0, 2.0, 4.0]


OTHER_FORMAT = "must answer in the format of OpenAI's chat completions"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (Server(failures=[(503, {})] * 7), "did not answer 7 times: HTTP 503"),
        (Server(failures=[(401, {})]), "refuses the key; set OPENAI_API_KEY"),
        (Server(failures=[(404, {})], body=b"no such\nmodel"), "answers HTTP 404: no such model"),
        (Server(failures=[(302, {"location": "http://127.0.0.1:9/"})]), "answers HTTP 302"),
        (Server(body=b"<html>"), OTHER_FORMAT),
        (Server(body=b'{"choices": []}'), OTHER_FORMAT),
        (Server(seconds=0.3), r"did not answer 7 times: [A-Za-z]+Timeout"),
        ("http://127.0.0.1:9/v1", "endpoint=http://127.0.0.1:9/v1 did not answer 7 times"),
        ("localhost/v1", "endpoint=localhost/v1: "),
        ("http://x:port", "endpoint=http://x:port must be a URL: Invalid port"),
    ],
)
def test_a_server_that_refuses_is_told_in_one_line(
    state: Server | str, message: str, waits: list[float]
) -> None:
    with nullcontext(state) if isinstance(state, str) else serving(state) as endpoint:
        timeout = 0.01 if isinstance(state, Server) and state.seconds else 60
        with pytest.raises(UserError, match=message) as error:
            connected(endpoint, timeout=timeout).score(batch("a ball"))
    assert "\n" not in str(error.value)
    assert waits == ([1.0, 2.0, 4.0, 8.0, 16.0, 32.0] if "7 times" in message else [])


def test_a_local_chat_model(tmp_path: Path) -> None:
    made = LlmRating(str(chat_model(tmp_path / "chat")))
    made.setup(CPU)
    captions = ("red", "blue", "a blue ball of some length", "red .", "")
    assert made.score(batch(*captions)).tolist() == [5, 2, 2, 5, 2]
    copy = LlmRating(str(shutil.copytree(tmp_path / "chat", tmp_path / "copy")))
    assert made.identity() == copy.identity() != LlmRating("chat", "http://localhost").identity()
    with pytest.raises(UserError, match="must have a chat template"):
        LlmRating(str(chat_model(tmp_path / "plain", template=None))).setup(CPU)
