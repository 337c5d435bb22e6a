"""A scripted stand-in for the Messages API: a server on this computer that plays answers and remembers requests.

It knows what Claude Code needs, no more: `POST /v1/messages` (streamed or whole), its `count_tokens`, `HEAD /`. It is
also the proxy that the environment of the tests names, so that a request to anywhere else ends here, as a stray.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import urlsplit

PATIENCE = 60.0
Block = dict[str, Any]
_CREDENTIALS = ("x-api-key", "authorization")
_ERRORS = {
    400: ("invalid_request_error", "messages: bad"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your account does not have permission."),
    404: ("not_found_error", "model: no-such-model"),
    429: ("rate_limit_error", "This request would exceed your rate limit."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
_numbers = count(1)


def text(words: str) -> Block:
    """The model says something."""
    return {"type": "text", "text": words}


def tool(name: str, /, **parameters: Any) -> Block:
    """The model uses a tool."""
    return {"type": "tool_use", "id": f"toolu_{next(_numbers):08d}", "name": name, "input": parameters}


class Usage(NamedTuple):
    """Tokens of one answer."""

    input: int = 1000
    output: int = 100
    cache_read: int = 0
    cache_creation: int = 0

    def document(self, output: int) -> dict[str, int]:
        return {
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.cache_creation,
            "cache_read_input_tokens": self.cache_read,
            "output_tokens": output,
        }


USUAL = Usage()


@dataclass(frozen=True)
class Message:
    """An answer of the model: one block or several."""

    blocks: tuple[Block, ...]
    usage: Usage = USUAL
    headers: dict[str, str] = field(default_factory=dict)

    def document(self, model: str) -> dict[str, Any]:
        """The answer as one JSON document."""
        busy = any(block["type"] == "tool_use" for block in self.blocks)
        return {
            "id": f"msg_{next(_numbers):08d}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": list(self.blocks),
            "stop_reason": "tool_use" if busy else "end_turn",
            "stop_sequence": None,
            "usage": self.usage.document(self.usage.output),
        }

    def events(self, model: str) -> Iterator[dict[str, Any]]:
        """The same answer as the events of a stream."""
        whole = self.document(model)
        empty: dict[str, Any] = {"content": [], "stop_reason": None, "usage": self.usage.document(1)}
        yield {"type": "message_start", "message": whole | empty}
        start: dict[str, Any]
        for index, block in enumerate(self.blocks):
            if block["type"] == "text":
                start, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield {"type": "content_block_start", "index": index, "content_block": block | start}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": self.usage.output}}
        yield {"type": "message_stop"}


@dataclass(frozen=True)
class Failure:
    """The API refuses: a status, its usual words unless others are given, and headers."""

    status: int
    words: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        kind, usual = _ERRORS.get(self.status, ("api_error", "error"))
        return {"type": "error", "error": {"type": kind, "message": self.words or usual}}


@dataclass(frozen=True)
class Hang:
    """The request is read, and nothing comes after so many events of a streamed answer."""

    blocks: tuple[Block, ...] = ({"type": "text", "text": "I was about to say"},)
    after: int = 0


@dataclass(frozen=True)
class Disconnect:
    """The connection ends after so many events of a streamed answer; at once if the whole answer is wanted.

    It is closed, not reset: a reset may destroy what was sent before it, so that no run would be like the other. `when`
    is called first and returns at the moment for it.
    """

    blocks: tuple[Block, ...] = ({"type": "text", "text": "I was about to say"},)
    after: int = 3
    when: Callable[[], Any] | None = None


Answer = Message | Failure | Hang | Disconnect
Scripted = Answer | Block | Callable[[], Answer]


def used_up(resets_at: float, window: str = "five_hour") -> Failure:
    """The answer to a subscriber whose usage window is spent."""
    short = {"five_hour": "5h", "seven_day": "7d"}[window]
    told = {
        "status": "rejected",
        "reset": str(int(resets_at)),
        "representative-claim": window,
        f"{short}-status": "rejected",
        f"{short}-reset": str(int(resets_at)),
        f"{short}-utilization": "1.0",
        "overage-status": "rejected",
        "overage-disabled-reason": "org_level_disabled",
    }
    return Failure(429, headers={f"anthropic-ratelimit-unified-{name}": value for name, value in told.items()})


class Request(NamedTuple):
    """One request. Which credential came is known, what it was is not."""

    method: str
    path: str
    headers: dict[str, str]
    credential: str
    body: dict[str, Any]
    at: float

    @property
    def session(self) -> str:
        return self.headers.get("x-claude-code-session-id", "")

    @property
    def system(self) -> str:
        """The whole system prompt."""
        system = self.body.get("system", "")
        return system if isinstance(system, str) else "\n".join(block["text"] for block in system)

    @property
    def prompt(self) -> str:
        """All text of the first message: what the user said."""
        content = self.body["messages"][0]["content"]
        return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)

    @property
    def tool_results(self) -> list[dict[str, Any]]:
        """What tools gave back, oldest first."""
        contents = [message["content"] for message in self.body["messages"]]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        return [block for block in blocks if block["type"] == "tool_result"]


class MessagesApi:
    """The server. `script` says what it answers, one request after the other; `requests` are those for an answer."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.others: list[Request] = []
        self.strays: list[str] = []
        self._script: list[Scripted] = []
        self._forever: Scripted = Failure(400, "the script is over")
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def script(self, *answers: Scripted, forever: Scripted | None = None) -> None:
        """Add answers; when they are used up, `forever` is given. A block alone is an answer of that block, and a
        function is called for its answer when that is due."""
        self._script += answers
        if forever is not None:
            self._forever = forever

    @property
    def left(self) -> int:
        """How many scripted answers nobody has fetched."""
        return len(self._script)

    def wait(self, holds: Callable[[list[Request]], Any], patience: float = PATIENCE) -> list[Request]:
        """The requests so far, once they are what the test waits for."""
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self.requests), patience), self.requests
            return list(self.requests)

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, request: Request) -> Answer | None:
        """Remember a request; the next answer if it wants one of the model."""
        with self._changed:
            path = urlsplit(request.path).path
            if path == "/v1/messages" and request.method == "POST":
                self.requests.append(request)
                self._changed.notify_all()
                return _answer(self._script.pop(0) if self._script else self._forever)
            if path.startswith("/") and request.method != "CONNECT":
                self.others.append(request)
            else:
                self.strays.append(request.path)
            return None

    def hang(self) -> None:
        """Until the server closes."""
        self._closing.wait()


def _answer(item: Scripted) -> Answer:
    if isinstance(item, dict):
        return Message((item,))
    return item() if callable(item) else item


class _Server(ThreadingHTTPServer):
    """Listens on a free port of this computer only; a thread for each connection."""

    daemon_threads = True

    def __init__(self, api: MessagesApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api


class _Handler(BaseHTTPRequestHandler):
    """Speaks HTTP; what to answer it asks the stand-in."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_HEAD(self) -> None:
        self.server.api.take(self._request())
        self._whole(200, {}, b"")

    def do_GET(self) -> None:
        self.server.api.take(self._request())
        self._document(404, Failure(404).document())

    def do_CONNECT(self) -> None:
        self.server.api.take(self._request())
        self._whole(403, {}, b"")

    def do_POST(self) -> None:
        request = self._request()
        answer = self.server.api.take(request)
        with contextlib.suppress(OSError):  # nobody waits for the answer any more
            if answer is not None:
                self._play(answer, request)
            elif urlsplit(request.path).path == "/v1/messages/count_tokens":
                self._document(200, {"input_tokens": len(json.dumps(request.body)) // 4})
            else:
                self._document(404, Failure(404).document())

    def _request(self) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        raw = self.rfile.read(int(headers.get("content-length", "0")))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        credential = next((name for name in _CREDENTIALS if name in headers), "")
        kept = {name: value for name, value in headers.items() if name not in _CREDENTIALS}
        return Request(self.command, self.path, kept, credential, body, time.monotonic())

    def _play(self, answer: Answer, request: Request) -> None:
        streamed, model = bool(request.body.get("stream")), str(request.body.get("model", ""))
        match answer:
            case Hang(blocks, after):
                if streamed and after:
                    self._stream(Message(blocks), model, after)
                self.server.api.hang()
                self.close_connection = True
            case Failure(status, _, headers):
                self._document(status, answer.document(), headers)
            case Disconnect(blocks, after, when):
                if streamed:
                    self._stream(Message(blocks), model, after)
                if when is not None:
                    when()
                self.close_connection = True
            case Message(_, _, headers):
                if streamed:
                    self._stream(answer, model)
                else:
                    self._document(200, answer.document(model), headers)

    def _stream(self, message: Message, model: str, stop_after: int | None = None) -> None:
        self._head(200, {**message.headers, "Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for number, event in enumerate(message.events(model)):
            if number == stop_after:
                return
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _document(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        self._whole(status, {**(headers or {}), "Content-Type": "application/json"}, json.dumps(document).encode())

    def _whole(self, status: int, headers: dict[str, str], body: bytes) -> None:
        with contextlib.suppress(OSError):
            self._head(status, {**headers, "Content-Length": str(len(body))})
            self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"request-id": f"req_{next(_numbers):08d}", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (OSError, ValueError):  # the client is gone, or we closed the connection ourselves
            self.close_connection = True

    def log_message(self, *_words: Any) -> None:
        """Not on the console."""
