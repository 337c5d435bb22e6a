"""`notify test`: one notification, its answer, an exit code; and no setting shows what must stay hidden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type
from tests.recording_receiver import Receiver


def test_it_arrives(typed: Type, receiver: Receiver) -> None:
    """Status and answer are shown; exit 0."""
    assert "holds a secret" in typed("config", "notify.url", receiver.url).err
    answer = typed("notify", "test")
    assert (answer.code, answer.out) == (0, "✓ Delivered to 127.0.0.1 (200)\nthank you\n")
    (got,) = receiver.received
    assert got.headers["title"] == "Test Notification"


def test_it_is_refused(typed: Type, receiver: Receiver) -> None:
    """The receiver's words are shown; exit 1, after one try."""
    assert "holds a secret" in typed("config", "notify.url", receiver.url).err
    receiver.answers = [(503, {})]
    answer = typed("notify", "test")
    assert (answer.code, answer.out) == (1, "thank you\n")
    assert "503 Service Unavailable" in answer.err
    assert len(receiver.received) == 1


def test_as_json(typed: Type, receiver: Receiver) -> None:
    """One document, good or bad."""
    assert "holds a secret" in typed("config", "notify.url", receiver.url).err
    typed("config", "notify.format", "slack")
    expected = {"delivered": True, "host": "127.0.0.1", "format": "slack", "status": 200, "answer": "thank you"}
    assert typed("notify", "test", "--json").document == expected | {"problem": None}
    assert receiver.received[0].document["text"].startswith("*Test Notification*")
    typed("config", "notify.url", "http://127.0.0.1:1/")
    answer = typed("notify", "test", "--json")
    assert (answer.code, answer.document["delivered"], answer.document["status"]) == (1, False, None)


def test_with_the_settings_of_a_workspace(typed: Type, receiver: Receiver) -> None:
    """Where the address is the workspace's own."""
    typed("init", "w", "--notify-url", receiver.url)
    assert typed("notify", "test", "-w", "w").code == 0
    assert "Workspace: w" in receiver.received[0].text
    assert typed("notify", "test", "-w", "nobody").code == 1


def test_no_address(typed: Type) -> None:
    """Says how to set one; an empty one is none."""
    for _ in range(2):
        answer = typed("notify", "test")
        assert (answer.code, "claude-iterate config notify.url https://" in answer.err) == (1, True)
        typed("config", "notify.url", "")


def test_an_address_must_be_one(typed: Type, folder: Path) -> None:
    """`init` and `config` refuse it and write nothing."""
    for bad in ("ntfy.sh/topic", "http://", "ftp://h/t", "https://h:99999/", "https://a b/", "http:///path"):
        assert typed("init", "w", "--notify-url", bad).code == 2
        answer = typed("config", "notify.url", bad)
        assert (answer.code, "https://ntfy.sh/my-topic" in answer.err) == (1, True)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [("config", "--list"), ("config", "--keys"), ("show", "w"), ("show", "w", "--json")])
def test_secrets_are_covered(typed: Type, project: Project, folder: Path, words: tuple[str, ...]) -> None:
    """The secret, the values of headers, and the end of a webhook's path."""
    (folder / ".claude-iterate.json").write_text(
        json.dumps(
            {
                "notify": {
                    "url": "https://hooks.slack.com/services/T1/B1/tok3n",
                    "secret": "s3cret",
                    "headers": {"Authorization": "Bearer tk_9"},
                }
            }
        )
    )
    project.create("w")
    answer = typed(*words)
    assert answer.code == 0
    assert [word for word in ("tok3n", "s3cret", "tk_9") if word in answer.out] == []
    assert "hooks.slack.com" in answer.out
