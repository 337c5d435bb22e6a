"""Requests travel as files. Whatever else lies in their folder is removed, told, and harmless."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import control
from claude_iterate.workspace.control import Letterbox, Request
from claude_iterate.workspace.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path, tmp_path / "work")
    made.folder.mkdir()
    return made


def test_requests_arrive_once_and_in_order(layout: Layout) -> None:
    """The oldest first; what was taken is gone, and that is the answer."""
    names = [control.post(layout, "r", verb) for verb in control.VERBS]
    control.post(layout, "r", "stop", now=True)
    assert not any(control.answered(layout, name) for name in names)
    box = Letterbox(layout, "r")
    assert box.take().requests == [*(Request(verb) for verb in control.VERBS), Request("stop", True)]
    assert all(control.answered(layout, name) for name in names)
    assert box.take() == ([], [])


def test_a_request_can_be_taken_back(layout: Layout) -> None:
    """Unless it was answered."""
    name = control.post(layout, "r", "stop")
    assert control.withdraw(layout, name)
    assert not control.withdraw(layout, name)
    assert Letterbox(layout, "r").take() == ([], [])


def test_a_request_for_another_run_is_ignored(layout: Layout) -> None:
    """A `stop` that came too late must not end the next run."""
    control.post(layout, "earlier", "stop")
    taken = Letterbox(layout, "r").take()
    assert taken.requests == []
    assert "another run" in taken.warnings[0]
    assert list(layout.control.iterdir()) == []


def good(**more: object) -> bytes:
    return json.dumps({"run": "r", "verb": "stop", "now": False} | more).encode()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no request"),
        (b'{"verb": "sto', "no request"),
        (b"\xff\x00", "no request"),
        (b"[" * 50_000, "no request"),
        (b"[]", "no request"),
        (b'"stop"', "no request"),
        (good(verb="explode"), "unknown"),
        (good(verb=["stop"]), "unknown"),
        (good(verb={}), "unknown"),
        (good(run=None), "another run"),
        (good(padding="x" * 70_000), "too large"),
    ],
)
def test_junk_is_removed_and_told(layout: Layout, data: bytes, why: str) -> None:
    """And what lies beside it still arrives."""
    layout.control.mkdir()
    (layout.control / "0.json").write_bytes(data)
    control.post(layout, "r", "pause")
    taken = Letterbox(layout, "r").take()
    assert taken.requests == [Request("pause")]
    assert why in taken.warnings[0]
    assert list(layout.control.iterdir()) == []


def test_now_must_be_true_and_nothing_like_it(layout: Layout) -> None:
    """A word in its place is no urgency."""
    layout.control.mkdir()
    (layout.control / "0.json").write_bytes(good(now="false"))
    assert Letterbox(layout, "r").take().requests == [Request("stop", False)]


def test_pipes_links_and_folders_are_not_opened(layout: Layout) -> None:
    """A pipe would hold the runner for ever; a link leads who knows where. A folder stays, and is told once."""
    layout.control.mkdir()
    secret = layout.folder / "secret"
    secret.write_bytes(good())
    os.mkfifo(layout.control / "pipe")
    (layout.control / "link").symlink_to(secret)
    (layout.control / "folder").mkdir()
    box = Letterbox(layout, "r")
    taken = box.take()
    assert taken.requests == []
    assert len(taken.warnings) == 3
    assert [path.name for path in layout.control.iterdir()] == ["folder"]
    assert secret.exists()
    assert box.take() == ([], [])


def test_many_are_told_in_few_words(layout: Layout) -> None:
    """A thousand pieces of junk do not make a thousand warnings; control characters in names stay out of them."""
    layout.control.mkdir()
    for number in range(1000):
        (layout.control / f"\x1b[2J{number}").touch()
    taken = Letterbox(layout, "r").take()
    assert len(taken.warnings) == 4
    assert "997 more" in taken.warnings[-1]
    assert "\x1b" not in "".join(taken.warnings)


def test_a_folder_that_is_none_is_no_reason_to_fail(layout: Layout) -> None:
    """The runner finds nothing; whoever asks is told."""
    layout.control.write_text("in the way")
    assert Letterbox(layout, "r").take() == ([], [])
    with pytest.raises(WorkspaceProblem, match="cannot be written"):
        control.post(layout, "r", "stop")


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.text(max_size=5), st.lists).map(lambda v: json.dumps(v).encode())
)
def test_no_bytes_at_all_raise(layout: Layout, data: bytes) -> None:
    """Any content is a request or a warning."""
    layout.control.mkdir(exist_ok=True)
    (layout.control / "any.json").write_bytes(data)
    taken = Letterbox(layout, "r").take()
    assert len(taken.requests) + len(taken.warnings) == 1
