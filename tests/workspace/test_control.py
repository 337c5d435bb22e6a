"""Requests are files. Anything else in their folder is harmless; other files stay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import control
from claude_iterate.workspace.run_folder.control import Request, RequestFolder

NAME = "01700000000000000000-stop-0123ab.json"


def taken(box: RequestFolder, said: str = "") -> tuple[list[Request], list[str]]:
    """Requests and warnings."""
    found = list(box.take(lambda _request: said))
    requests = [replace(one, run="") for one in found if isinstance(one, Request)]
    return requests, [one for one in found if isinstance(one, str)]


def test_requests_arrive_once_and_in_order(layout: Layout) -> None:
    """The oldest first; what was taken is gone, and that is the answer."""
    names = [control.post(layout, "r", verb) for verb in control.VERBS]
    control.post(layout, "r", "stop", now=True)
    assert not any(control.is_taken(layout, name) for name in names)
    box = RequestFolder(layout, "r")
    assert taken(box) == ([*(Request(verb) for verb in control.VERBS), Request("stop", True)], [])
    assert all(control.is_taken(layout, name) for name in names)
    assert taken(box) == ([], [])


def test_the_runner_s_answer_is_there_when_the_request_is_gone(layout: Layout) -> None:
    """Each request is answered at its turn, not before those ahead of it are dealt with; who asked reads it once."""
    first, second = control.post(layout, "r", "pause"), control.post(layout, "r", "resume")
    deeds: list[str] = []
    for found in RequestFolder(layout, "r").take(lambda request: f"{request.verb} after {deeds}"):
        assert isinstance(found, Request)
        deeds.append(found.verb)
    assert control.take_answer(layout, second) == "resume after ['pause']"
    assert control.take_answer(layout, first) == "pause after []"
    assert control.take_answer(layout, first) == ""
    assert list(layout.control.iterdir()) == []


def test_an_answer_that_nobody_fetched_does_not_stay_for_ever(layout: Layout) -> None:
    """The next run throws it away; a request in the making and the files of others it leaves alone."""
    control.post(layout, "r", "stop")
    assert taken(RequestFolder(layout, "r"), "It stops now.")[0] == [Request("stop")]
    (layout.control / ".01-stop.json.x7.tmp").touch()
    (layout.control / ".mine.answer").touch()
    assert len(list(layout.control.iterdir())) == 3
    RequestFolder(layout, "s")
    assert sorted(path.name for path in layout.control.iterdir()) == [".01-stop.json.x7.tmp", ".mine.answer"]


def test_an_answer_is_never_written_through_a_link(layout: Layout) -> None:
    """The request counts all the same."""
    target = layout.folder / "target"
    target.write_text("precious")
    box = RequestFolder(layout, "r")
    name = control.post(layout, "r", "stop")
    (layout.control / f".{name}.answer").symlink_to(target)
    assert taken(box, "overwritten") == ([Request("stop")], [])
    assert target.read_text() == "precious"


def test_a_request_can_be_taken_back(layout: Layout) -> None:
    """Unless it was answered."""
    name = control.post(layout, "r", "stop")
    assert control.withdraw(layout, name)
    assert not control.withdraw(layout, name)
    assert taken(RequestFolder(layout, "r")) == ([], [])


def test_a_request_for_another_run_is_ignored(layout: Layout) -> None:
    """A `stop` that came too late must not end the next run."""
    control.post(layout, "earlier", "stop")
    requests, warnings = taken(RequestFolder(layout, "r"))
    assert requests == []
    assert "another run" in warnings[0]
    assert list(layout.control.iterdir()) == []


def good(**more: object) -> bytes:
    return json.dumps({"run": "r", "verb": "stop", "now": False} | more).encode()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a request"),
        (b'{"verb": "sto', "not a request"),
        (b"\xff\x00", "not a request"),
        (b"[" * 50_000, "not a request"),
        (b"[]", "not a request"),
        (b'"stop"', "not a request"),
        (good(verb="explode"), "unknown"),
        (good(verb=["stop"]), "not a request"),
        (good(run=None), "not a request"),
        (good(now="false"), "not a request"),
        (good(padding="x" * 70_000), "too large"),
    ],
)
def test_junk_is_removed_and_told(layout: Layout, data: bytes, why: str) -> None:
    """And what lies beside it still arrives."""
    layout.control.mkdir()
    (layout.control / NAME).write_bytes(data)
    control.post(layout, "r", "pause")
    requests, warnings = taken(RequestFolder(layout, "r"))
    assert requests == [Request("pause")]
    assert why in warnings[0]
    assert control.take_answer(layout, NAME) == ""
    assert [path.name for path in layout.control.iterdir() if path.suffix == ".json"] == []


def test_pipes_links_and_folders_are_not_opened(layout: Layout) -> None:
    """A pipe would block the runner; a link may lead anywhere. A folder stays, and is reported once."""
    layout.control.mkdir()
    secret = layout.folder / "secret"
    secret.write_bytes(good())
    pipe, link, folder = (NAME.replace("0123ab", f"00000{number}") for number in range(3))
    os.mkfifo(layout.control / pipe)
    (layout.control / link).symlink_to(secret)
    (layout.control / folder).mkdir()
    box = RequestFolder(layout, "r")
    requests, warnings = taken(box)
    assert requests == []
    assert len(warnings) == 3
    assert [path.name for path in layout.control.iterdir()] == [folder]
    assert secret.exists()
    assert taken(box) == ([], [])


@pytest.mark.parametrize("name", ["thesis.doc", "0.json", NAME + ".bak", "x" + NAME, NAME.upper(), "notes-stop-1.json"])
def test_what_is_not_named_like_a_request_stays(layout: Layout, name: str) -> None:
    """It is not ours: it is never read as a request, never removed."""
    layout.control.mkdir()
    (layout.control / name).write_bytes(good())
    assert taken(RequestFolder(layout, "r")) == ([], [])
    assert (layout.control / name).read_bytes() == good()


def test_a_folder_that_leads_elsewhere_is_not_touched(layout: Layout, tmp_path: Path) -> None:
    """Not even files named like ours are taken; one warning, and the command that asks fails with a message."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in (NAME, "thesis.doc", f".{NAME}.answer"):
        (elsewhere / name).write_bytes(good())
    layout.control.symlink_to(elsewhere)
    box = RequestFolder(layout, "r")
    requests, (warning,) = taken(box)
    assert requests == []
    assert "control/ is a link" in warning
    assert taken(box) == ([], [])
    with pytest.raises(WorkspaceProblem, match="control is a link"):
        control.post(layout, "r", "stop")
    assert len(list(elsewhere.iterdir())) == 3


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5).map(
        lambda value: json.dumps(value).encode()
    )
)
def test_no_bytes_at_all_raise(layout: Layout, data: bytes) -> None:
    """Any content is a request or a warning."""
    layout.control.mkdir(exist_ok=True)
    (layout.control / NAME).write_bytes(data)
    requests, warnings = taken(RequestFolder(layout, "r"))
    assert len(requests) + len(warnings) == 1
