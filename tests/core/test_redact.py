"""Secrets stay out of what is kept."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import Said, ToolCalled
from claude_iterate.core.redact import Redactor
from claude_iterate.core.secret_shapes import MASK

ENVIRONMENT = {"GITHUB_TOKEN": "very-secret-value", "HOME": "/home/somebody", "ANTHROPIC_API_KEY": 'quo"ted-secret'}


@pytest.mark.parametrize(
    "secret",
    [
        "very-secret-value",
        'quo"ted-secret',
        "sk-ant-api03-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_secret_is_suspected_and_masked(secret: str) -> None:
    """Known shapes, and the values of variables whose names speak of secrets."""
    redactor = Redactor(ENVIRONMENT)
    text = f"before {secret} after"
    assert redactor.suspects(text.encode())
    assert redactor.clean(text) == f"before {MASK} after"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Authorization: Bearer abc.def", f"Authorization: Bearer {MASK}"),
        ("-H 'authorization: bearer abc123=='", f"-H 'authorization: bearer {MASK}'"),
        ("'Authorization': 'Bearer abcdefghijklmnopqrst1'", f"'Authorization': 'Bearer {MASK}'"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {MASK}"),
        ("x-api-key: 0123456789", f"x-api-key: {MASK}"),
        ("Authorization: Bearer $TOKEN", "Authorization: Bearer $TOKEN"),
        ("the bearer authentication-mechanisms", "the bearer authentication-mechanisms"),
    ],
)
def test_a_login_in_a_header_is_masked(text: str, cleaned: str) -> None:
    """The words around it stay, and so do variables and prose."""
    redactor = Redactor({})
    assert redactor.clean(text) == cleaned
    assert redactor.suspects(text.encode()) or text == cleaned


def test_a_value_escaped_in_json_is_found() -> None:
    """Claude prints JSON; a quote in a secret is escaped there."""
    assert Redactor(ENVIRONMENT).suspects(b'{"text": "quo\\"ted-secret"}')


def test_ordinary_text_is_left_alone() -> None:
    """Paths and short values are no secrets."""
    redactor = Redactor(ENVIRONMENT | {"MY_KEY": "short"})
    text = "the task-list in /home/somebody is short, npm_config too"
    assert redactor.clean(text) == text


def test_every_text_of_an_event_is_cleaned() -> None:
    """Also deep within a tool's input."""
    redactor = Redactor(ENVIRONMENT)
    call = ToolCalled("1", "Bash", {"command": "echo very-secret-value", "deep": [{"x": "very-secret-value"}]})
    assert redactor.clean_event(call) == ToolCalled("1", "Bash", {"command": f"echo {MASK}", "deep": [{"x": MASK}]})
    assert redactor.clean_event(Said("very-secret-value")) == Said(MASK)
