"""The stand-in for the Messages API keeps its own promises; no Claude is needed for this."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.mocks.messages_api import Failure, MessagesApi, text


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    made = MessagesApi()
    yield made
    made.close()


@pytest.fixture
def client(api: MessagesApi) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=api.url, trust_env=False, headers={"x-api-key": "very secret"}) as made:
        yield made


def test_it_plays_its_script_and_then_refuses(api: MessagesApi, client: httpx.Client) -> None:
    """Answers in their order, whole or streamed; more requests than answers are an error that says so."""
    api.script(text("one"), Failure(429, headers={"retry-after": "7"}), lambda: Failure(529))
    whole = client.post("/v1/messages?beta=true", json={"model": "m"}).json()
    assert (whole["content"], whole["stop_reason"], whole["model"]) == ([text("one")], "end_turn", "m")
    refused = client.post("/v1/messages", json={})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    assert client.post("/v1/messages", json={}).json()["error"]["type"] == "overloaded_error"
    assert "the script is over" in client.post("/v1/messages", json={}).text


def test_it_remembers_requests_but_no_key(api: MessagesApi, client: httpx.Client) -> None:
    """The kind of the credential is known, the credential is not."""
    assert client.head("/").status_code == 200
    assert client.post("/v1/messages/count_tokens", json={"messages": []}).json()["input_tokens"] > 0
    api.script(text("one"))
    client.post("/v1/messages", json={"system": [{"type": "text", "text": "be brief"}], "messages": []})
    assert [request.method for request in api.others] == ["HEAD", "POST"]
    (request,) = api.requests
    assert (request.credential, request.system) == ("x-api-key", "be brief")
    assert "very secret" not in str(api.requests) + str(api.others)


def test_what_is_meant_for_elsewhere_is_a_stray(api: MessagesApi) -> None:
    """As a proxy it refuses, and remembers where the request wanted to go."""
    with httpx.Client(proxy=api.url, trust_env=False) as client, pytest.raises(httpx.ProxyError):
        client.get("https://example.invalid/")
    assert api.strays == ["example.invalid:443"]
