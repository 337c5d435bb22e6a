"""Followers of pages: one for all browsers, nothing is queued; a look that fails is told until one goes well."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from claude_iterate.operations.dashboard import page_followers
from claude_iterate.operations.dashboard.access_rules import AccessKeys
from claude_iterate.operations.dashboard.page_followers import NOTHING, PageFollowers, change
from claude_iterate.operations.dashboard.web_pages import GuardedApplication
from claude_iterate.views.pages.drawn_page import Drawn
from claude_iterate.views.story import Happening

FIRST = Drawn("t", {"head": "one", "log": "l"}, (Happening(1, "", 1, "", "a"),), run="r")


class Scripted:
    """Draws what the test says, look by look; then nothing changes any more."""

    def __init__(self, *looks: Drawn | Exception | None) -> None:
        self.looks = list(looks)

    def draw(self) -> Drawn | None:
        look = self.looks.pop(0) if self.looks else None
        if isinstance(look, Exception):
            raise look
        return look


def followed(drawing: Scripted, until: str) -> list[dict[str, Any]]:
    """The changes that a browser gets, up to the one whose panels contain this text."""

    async def played() -> list[dict[str, Any]]:
        followers = PageFollowers()
        follower = followers.of("/", drawing.draw)
        assert followers.of("/", lambda: pytest.fail("it is followed already")) is follower
        shown, changes = NOTHING, []
        while True:
            if await follower.wait_for_news(shown, 60):
                changes.append(change(shown, follower.drawn))
                shown = follower.drawn
                if until in "".join(changes[-1]["panels"].values()):
                    followers.close()
                    return changes

    return asyncio.run(played())


def test_a_look_that_fails_is_told_and_the_next_good_one_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when nothing has changed since the last good one."""
    monkeypatch.setattr(page_followers, "PAUSE", 0.01)
    broken = OSError("the disk is <gone>")
    changes = followed(Scripted(FIRST, broken, None, replace(FIRST, panels={"head": "last", "log": "l"})), "last")
    text = "".join(str(one["panels"]) for one in changes)
    assert "the disk is &lt;gone&gt;" in text


def test_a_browser_gets_only_what_it_does_not_have() -> None:
    """Panels that changed, and lines that are new; of another run, all."""
    second = Happening(2, "", 1, "", "b")
    later = replace(FIRST, panels={"head": "two", "log": "l"}, lines=(*FIRST.lines, second))
    found = change(FIRST, later)
    assert (found["panels"], found["lines"], found["again"]) == ({"head": "two"}, [asdict(second)], False)
    assert set(change(NOTHING, FIRST)["panels"]) == {"head", "log"}
    other = change(FIRST, replace(FIRST, run="s"))
    assert (len(other["lines"]), other["again"]) == (1, True)


def test_a_bug_in_a_page_is_a_page_with_a_crash_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others go on, and the report does not have the query of the address."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    sent: list[MutableMapping[str, Any]] = []

    async def broken(*_: Any) -> None:
        raise ZeroDivisionError

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    headers = [(b"host", b"localhost"), (b"cookie", b"c=right")]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"secret=1", "headers": headers}
    guarded = GuardedApplication(broken, AccessKeys("token", "right", "c"), lambda: None)
    asyncio.run(guarded(scope, receive, send))
    assert sent[0]["status"] == 500
    assert b"This is a bug in claude-iterate" in sent[1]["body"]
    (report,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert "ZeroDivisionError" in report.read_text()
    assert "secret" not in report.read_text()
