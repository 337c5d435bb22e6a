"""The dashboard over a real socket: what it shows, whom it refuses, what it sends while a page is open."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import socket
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from claude_iterate.core import events
from claude_iterate.core.events import Entry, IterationFinished, IterationStarted, Outcome, RunFinished, RunStarted
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.status import Status
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import notes
from tests.cli.journals import write
from tests.e2e.conftest import until
from tests.served_dashboard import ServedDashboard, Stream

RUN = "000001-20260101-000000-aaaaaa"
EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> <a href='javascript:alert(3)'>x</a> \"'> "
    "\x1b[31mred\x1b]0;x\x07 \u202egnp.exe \u2028"
)
REFUSED = {401, 403, 404, 405, 421}


class Parts(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data


def run_of(layout: Layout, *more: Any, run: str = RUN) -> None:
    """A run with foreign text in every place that holds text."""
    status = Status(complete=True, completed=1, total=2, summary=EVIL)
    told: list[Any] = [
        RunStarted(run, layout.name, "loop", 60, 1, "h", "0", ("claude",), "iterate.log"),
        IterationStarted(1),
        events.ToolCalled(id="t", name="Bash", input={"command": EVIL}),
        events.ToolResult(id="t", name="Bash", text=EVIL, is_error=True),
        events.AssistantText(text=EVIL),
        IterationFinished(1, Outcome(Kind.CRASH, EVIL), status, duration=10.0, cost_usd=0.5, tools=1, context=0.4),
        events.WorkMeasured(1, events.Changes(created=1, how="git", files=(EVIL,)), None, ("files",)),
        events.VerificationStarted(1, 1),
        events.CheckFinished(f"test {EVIL}", 1, 2.0, EVIL),
        events.ReviewFinished("incomplete", EVIL, (EVIL,), "report.md", 0.1),
        events.VerificationFinished(1, False, findings=EVIL),
        events.Warned(EVIL),
        *more,
    ]
    write(layout, run, told)
    (layout.folder / "iterate.log").write_text(EVIL)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "home").mkdir()
    project = Project(folder / "project", {"HOME": str(folder / "home")})
    for name in ("evil", "fresh", "noted"):
        project.create(name)
    run_of(project.layout("evil"), RunFinished("no_progress", EVIL, iterations=1, cause=EVIL, next=f"echo {EVIL}"))
    notes.add(project.layout("evil"), EVIL)
    (folder / "secret.txt").write_text("the secret")
    return project


@pytest.fixture(scope="module")
def served(project: Project) -> Iterator[ServedDashboard]:
    """One process for all tests here that change nothing of what others look at."""
    made = ServedDashboard(project.root, project.root.parent / "home")
    made.enter()
    yield made
    made.close()


def test_the_token_is_changed_for_a_cookie_that_no_script_and_no_other_site_gets(served: ServedDashboard) -> None:
    """And the browser goes on to an address without it."""
    answer = served.enter()
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert served.token not in cookie
    assert "evil" in served.page("/").text


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", {"host": "evil.example"}),
        ("GET", "/static/dashboard.js", {"host": "evil.example"}),
        ("GET", "/", {"cookie": None}),
        ("GET", "/?token=wrong", {"cookie": None}),
        ("GET", "/workspaces/evil/events", {"origin": "http://127.0.0.1:6666"}),
        ("GET", "/workspaces/evil/events", {"sec_fetch_site": "cross-site"}),
        ("GET", "/workspaces/evil/requests?verb=stop", {}),
        ("GET", "/workspaces/evil/notes?text=x", {}),
        ("POST", "/workspaces/evil/notes", {"origin": "https://evil.example"}),
        ("POST", "/workspaces/evil/notes", {"cookie": None}),
        ("DELETE", "/workspaces/evil", {}),
    ],
)
def test_strangers_see_nothing_and_change_nothing(
    served: ServedDashboard, project: Project, method: str, path: str, headers: dict[str, str | None]
) -> None:
    """Each is refused with a page that names nothing of the project; what a page posts, with a text to show."""
    before = sorted(project.root.rglob("*"))
    answer = served.post(path, {"text": "x"}, **headers) if method == "POST" else served.send(method, path, **headers)
    assert answer.status in REFUSED, answer
    assert "alert" not in answer.text
    assert method != "POST" or json.loads(answer.text)["text"]
    assert sorted(project.root.rglob("*")) == before


@pytest.mark.parametrize(
    "path", ["/", "/workspaces/evil", "/nothing", "/workspaces/evil/events", "/static/dashboard.css", "/?token=wrong"]
)
def test_every_answer_is_closed_to_other_pages(served: ServedDashboard, path: str) -> None:
    """Whatever the answer is: no script or style but our own files, no frame, no guessing of types, no referrer."""
    headers = served.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/workspaces/evil", f"/workspaces/evil/runs/{RUN}", "/workspaces/fresh"])
def test_foreign_text_is_text(served: ServedDashboard, path: str) -> None:
    """In every place: no tag, no address and no attribute comes from it, and it cannot steer or disguise."""
    page = served.page(path).text
    parts = Parts(page)
    scripts = [about.get("src") for tag, about in parts.tags if tag == "script"]
    assert scripts == ["/static/dashboard.js"]
    assert not [tag for tag, _ in parts.tags if tag in {"img", "iframe", "style", "object", "embed", "base"}]
    attributes = {name for _, about in parts.tags for name in about}
    assert not [name for name in attributes if name.startswith("on") or name == "style"]
    links = [about[name] for _, about in parts.tags for name in ("href", "src", "action") if name in about]
    assert [link for link in links if not re.match(r"[/#][\w./#-]*$", link)] == []
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]", page)
    if "evil/" in path or path.endswith("evil"):
        assert parts.text.count("<script>alert(1)</script>") >= 12
        assert "\ufffdgnp.exe" in parts.text


def test_what_the_stream_sends_is_escaped_as_the_page_is(served: ServedDashboard) -> None:
    """Panels are HTML that is made by the same templates; lines are plain text, which the page never reads as HTML."""
    stream = served.stream("/workspaces/evil/events")
    _, change = stream.next("change")
    stream.close()
    for html in change["panels"].values():
        assert "<script" not in html
        assert "onerror" not in "".join(map(str, (about for _, about in Parts(html).tags)))
    assert any("<script>" in line["text"] for line in change["lines"])
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]", json.dumps(change, ensure_ascii=False))


@pytest.mark.parametrize(
    "path",
    [
        "/workspaces/..%2f..%2fsecret.txt",
        "/workspaces/%2e%2e",
        "/workspaces/-x",
        "/workspaces/nothing",
        "/workspaces/evil/runs/..%2f..",
        "/workspaces/evil/runs/nothing",
        "/workspaces/evil/runs/nothing/report",
        "/workspaces/nothing/events",
        "/static/../run_page.html.jinja",
        "/static/%2e%2e/run_page.html.jinja",
        "/static/..%2f..%2f..%2f..%2fsecret.txt",
        "/%00",
    ],
)
def test_names_lead_nowhere_else(served: ServedDashboard, path: str) -> None:
    """A name that is none, or that would lead out of its folder, is not found."""
    answer = served.get(path)
    assert answer.status == 404
    assert "the secret" not in answer.text
    assert "{%" not in answer.text


def test_a_workspace_that_never_ran_says_how_to_begin(served: ServedDashboard) -> None:
    """It is listed as new, its page has the command, and there is no report yet."""
    assert "claude-iterate run fresh" in served.page("/workspaces/fresh").text
    answer = served.get("/workspaces/fresh/report")
    assert answer.status == 404
    assert "claude-iterate run fresh" in answer.text


def test_the_report_is_that_of_the_command(served: ServedDashboard) -> None:
    """Its own style sheet is allowed by its checksum, and nothing else."""
    answer = served.get(f"/workspaces/evil/runs/{RUN}/report")
    assert answer.status == 200
    assert "What to do next" in answer.text
    policy = answer.headers["content-security-policy"]
    assert re.search(r"style-src 'self' 'sha256-[\w+/=]{44}'", policy)
    assert "unsafe" not in policy


def test_requests_are_those_of_the_commands(served: ServedDashboard, project: Project) -> None:
    """Nothing runs here, so the answer is the command's own; a note is a file that the next iteration finds."""
    for verb in ("pause", "resume", "stop", "skip", "retry"):
        answer = served.post("/workspaces/noted/requests", {"verb": verb})
        assert answer.status == 409
        assert "Nothing runs in the workspace 'noted'. Start it: claude-iterate run noted" in answer.text
    assert served.post("/workspaces/noted/notes", {"text": "Use tabs."}).status == 200
    assert [note.text for note in notes.pending_notes(project.layout("noted"))] == ["Use tabs."]


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("requests", {"verb": "rm"}, {}),
        ("requests", {"verb": ["stop"]}, {}),
        ("requests", {}, {}),
        ("requests", b"verb=stop", {"content_type": "application/x-www-form-urlencoded"}),
        ("requests", b'{"verb": "stop"}', {"content_type": "text/plain"}),
        ("requests", b"{", {}),
        ("requests", b"[]", {}),
        ("notes", {"text": 1}, {}),
        ("notes", {"text": "  "}, {}),
        ("notes", b'{"text": "' + b"x" * (3 << 20) + b'"}', {}),
    ],
)
def test_what_is_not_understood_is_refused_with_a_word(
    served: ServedDashboard, project: Project, path: str, body: Any, headers: dict[str, str]
) -> None:
    """And changes nothing; the dashboard goes on."""
    answer = served.post(f"/workspaces/fresh/{path}", body, **headers)
    assert answer.status in {400, 409}
    assert json.loads(answer.text)["text"]
    assert notes.names(project.layout("fresh")) == []


# From here on each test has a project and a dashboard of its own.


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[ServedDashboard, Layout]]:
    (tmp_path / "home").mkdir()
    layout = Project(tmp_path / "project", {"HOME": str(tmp_path / "home")}).create("w")
    made = ServedDashboard(tmp_path / "project", tmp_path / "home")
    made.enter()
    yield made, layout
    made.close()


def changed(stream: Stream, holds: str) -> dict[str, Any]:
    """The first change whose panels contain this text."""
    while True:
        kind, change = stream.next("change")
        assert kind == "change"
        if any(holds in html for html in change["panels"].values()):
            return change


def test_a_stream_follows_the_journal_and_sends_what_is_new(own: tuple[ServedDashboard, Layout]) -> None:
    """A page of a workspace that never ran gets its first run, then each further event, and nothing twice; one that
    comes back gets all of it."""
    served, layout = own
    stream = served.stream("/workspaces/w/events")
    changed(stream, "It never ran")
    run_of(layout)
    first = changed(stream, "killed")
    assert first["again"]
    assert len(first["lines"]) >= 6
    writer = JournalWriter(layout.journal(RUN), pytest.fail)
    writer.append(Entry(50, 1_767_225_700.0, 50.0, IterationStarted(2)))
    writer.close()
    second = stream.next("change")[1]
    assert [line["text"] for line in second["lines"]] == ["Running iteration 2..."]
    assert not second["again"]
    assert "charts" not in second["panels"]
    (layout.folder / "iterate.log").write_text("another line")
    assert list(stream.next("change")[1]["panels"]) == ["log"]
    back = served.stream("/workspaces/w/events")
    missed = back.next("change")[1]
    assert (missed["again"], "charts" in missed["panels"]) == (True, True)
    for one in (stream, back):
        one.close()


def test_bad_records_are_told_in_a_clear_word(own: tuple[ServedDashboard, Layout]) -> None:
    """A torn journal, and a folder that is gone."""
    served, layout = own
    torn = "000002-20260101-000000-bbbbbb"
    run_of(layout, run=torn)
    lines = layout.journal(torn).read_bytes().splitlines(keepends=True)
    layout.journal(torn).write_bytes(lines[0][20:] + b"".join(lines[1:-1]) + lines[-1][:30])
    page = served.page(f"/workspaces/w/runs/{torn}").text
    assert "has lost its beginning" in page
    assert f"claude-iterate logs w --run {torn}" in page
    stream = served.stream("/workspaces/w/events")
    shutil.rmtree(layout.folder)
    changed(stream, "The folder of this workspace is gone")
    stream.close()
    assert served.get("/workspaces/w").status == 404
    assert "There is no workspace here yet" in served.page("/").text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_open_pages_and_leaves_nothing(
    own: tuple[ServedDashboard, Layout], number: signal.Signals
) -> None:
    """The pages are told; the exit code is 0; neither a file nor a word about the token is left."""
    served, _layout = own
    stream = served.stream("/workspaces/w/events")
    stream.next("change")
    assert served.end(number) == 0
    assert stream.next("bye")[0] == "bye"
    stream.close()
    home = served.errors.parent
    assert [path.name for path in home.iterdir()] == [served.errors.name]
    assert served.token not in served.errors.read_text()
    assert "The dashboard has ended." in served.errors.read_text()


def test_other_computers_are_let_in_only_when_asked_for(tmp_path: Path) -> None:
    """Then it warns, and answers to the address of this computer, still not to any other name."""
    (tmp_path / "home").mkdir()
    Project(tmp_path / "project", {}).create("w")
    served = ServedDashboard(tmp_path / "project", tmp_path / "home", "--host", "0.0.0.0")
    try:
        assert "can be reached from other computers" in served.errors.read_text()
        assert f"ssh -L {served.port}:127.0.0.1:{served.port}" in served.errors.read_text()
        served.enter()
        assert served.get("/", host="192.0.2.7").status == 200
        assert served.get("/", host="evil.example").status == 421
    finally:
        served.close()


def test_the_browser_is_opened_without_the_token_in_sight(tmp_path: Path) -> None:
    """Its command line has a file that only the user can read, which is gone when the browser has come."""
    home, seen = tmp_path / "home", tmp_path / "seen"
    home.mkdir()
    Project(tmp_path / "project", {}).create("w")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.part\nmv {seen}.part {seen}\n')
    browser.chmod(0o755)
    served = ServedDashboard(tmp_path / "project", home, "--open", BROWSER=f"{browser} %s")
    try:
        until(seen.exists)
        said = seen.read_text().strip()
        assert served.token not in said
        file = Path(said.removeprefix("file://"))
        assert served.address.replace("&", "&amp;") in file.read_text()
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        served.enter()
        assert not file.parent.exists()
        assert served.end() == 0
    finally:
        served.close()


NO_RUNS = [
    "000009-x\nevent: change\ndata: {}\n\n",
    "000009-<img src=x onerror=alert(2)>",
    "000009-x?a=b#c",
    "000009-..%2f..",
    "\u0969" * 6 + "-x",
    "nine",
]


def test_a_folder_with_another_name_is_no_run(own: tuple[ServedDashboard, Layout]) -> None:
    """A name on the disk is that of a run only if a run could have it: no other is listed, sent or found."""
    served, layout = own
    run_of(layout)
    for name in NO_RUNS:
        shutil.copytree(layout.journal(RUN).parent, layout.runs / name)
    stream = served.stream("/workspaces/w/events")
    change = changed(stream, RUN)
    stream.close()
    assert re.findall("<li>.*?</a>", change["panels"]["runs"]) == [f'<li><a href="/workspaces/w/runs/{RUN}">1</a>']
    page = served.page("/workspaces/w").text
    assert "000009" not in page + json.dumps(change)
    assert [served.get(f"/workspaces/w/runs/{quote(name, safe='')}").status for name in NO_RUNS] == [404] * len(NO_RUNS)
    assert layout.run_ids() == [RUN]
    assert layout.next_run_id("x").startswith("000002-")


def connect(served: ServedDashboard, words: bytes = b"") -> socket.socket:
    """A connection that says this and nothing else."""
    made = socket.create_connection(("127.0.0.1", served.port), 120)
    made.sendall(words)
    return made


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other side has ended it."""
    with connection:
        try:
            return connection.recv(1) == b""
        except ConnectionResetError:
            return True


def test_a_crowd_of_silent_strangers_leaves_room_for_the_owner(own: tuple[ServedDashboard, Layout]) -> None:
    """Whatever part of a question they have sent; most of them are sent away at once."""
    served, layout = own
    stream = served.stream("/workspaces/w/events")
    parts = (b"", b"GET / HTTP/1.1\r\nHost: 127", b"POST /workspaces/w/notes HTTP/1.1\r\nHost: x\r\n")
    crowd = [connect(served, parts[number % 3]) for number in range(450)]
    assert served.get("/").status == 200
    assert served.post("/workspaces/w/notes", {"text": "x"}).status == 200
    run_of(layout)
    changed(stream, "killed")
    stream.close()
    assert all(is_closed(stranger) for stranger in crowd[:400])
    for stranger in crowd[400:]:
        stranger.close()


SOON = """
from claude_iterate.cli import program
from claude_iterate.operations.dashboard import connection
connection._PATIENCE = 3.0
program()
"""


def test_strangers_do_not_stay_and_the_owner_does(tmp_path: Path) -> None:
    """A stranger who was answered has to go, too. The stream of the owner is older than they, and goes on."""
    (tmp_path / "home").mkdir()
    layout = Project(tmp_path / "project", {}).create("w")
    served = ServedDashboard(tmp_path / "project", tmp_path / "home", program=("-c", SOON))
    try:
        served.enter()
        stream = served.stream("/workspaces/w/events")
        silent = connect(served)
        asking = connect(served, b"GET /static/dashboard.css HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with asking, asking.makefile("rb") as answer:
            assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
            asking.sendall(b"GET / HTTP/1.1\r\n")
            with contextlib.suppress(ConnectionResetError):
                answer.read()
        assert is_closed(silent)
        run_of(layout)
        changed(stream, "killed")
        stream.close()
    finally:
        served.close()


def test_one_address_has_so_many_open_pages(own: tuple[ServedDashboard, Layout]) -> None:
    """Further ones are refused in a clear word, until one is closed; all other requests are answered."""
    served, _layout = own
    streams = [served.stream("/events") for _ in range(8)]
    for stream in streams:
        stream.next("tick")
    answer = served.get("/workspaces/w/events")
    assert (answer.status, "Too many pages of the dashboard are open" in answer.text) == (503, True)
    assert served.send("HEAD", "/events", x_forwarded_for="192.0.2.1").status == 503
    assert served.get("/").status == 200
    streams.pop().close()
    until(lambda: served.send("HEAD", "/events").status == 200)
    for stream in streams:
        stream.close()
