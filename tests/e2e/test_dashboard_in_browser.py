"""The dashboard in a real Chromium: it follows a live run and steers it, other pages stay outside, it does not grow."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core import events
from claude_iterate.core.events import Entry, IterationFinished, IterationStarted, Outcome, RunStarted, Tokens
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.status import Status
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from tests.chromium import Browser, Page
from tests.cli.journals import write
from tests.e2e.conftest import Loop, until
from tests.served_dashboard import ServedDashboard

pytestmark = pytest.mark.needs_chromium
RUN = "000001-20260101-000000-aaaaaa"
LIVE = "document.getElementById('connection').textContent === 'live'"
EVIL = (
    "<script>window.bad = 1</script><img src=x onerror='window.bad = 2'> "
    "<a href='javascript:window.bad = 3'>x</a> \x1b[31mred"
)
POSTED = """async (address) => {
  const found = [];
  for (const [mode, type] of [["cors", "application/json"], ["no-cors", "text/plain"]]) {
    const sent = { method: "POST", credentials: "include", mode, headers: { "Content-Type": type } };
    const came = fetch(address, { ...sent, body: '{"text": "x"}' });
    found.push(await came.then((answer) => answer.type, () => "refused"));
  }
  return found;
}"""
STREAMED = """(address) => new Promise((told) => {
  const source = new EventSource(address, { withCredentials: true });
  source.onerror = () => told(source.readyState === EventSource.CLOSED ? "refused" : "tries again");
  source.onopen = () => told("open");
})"""
FRAMED = """(address) => new Promise((told) => {
  const frame = document.createElement("iframe");
  frame.onload = () => { try { told(frame.contentWindow.length); } catch { told("closed"); } };
  frame.src = address;
  document.body.append(frame);
})"""
NAMELESS = """() => [...document.querySelectorAll("a,button,summary,svg,progress,meter,textarea,[role=region],section")]
  .filter((one) => one.checkVisibility() && one.innerHTML !== "")
  .filter((one) => !one.innerText?.trim() && !one.ariaLabel && !one.hasAttribute("aria-labelledby"))
  .filter((one) => !one.labels?.length)
  .map((one) => one.outerHTML.slice(0, 80))"""
STEP: list[dict[str, Any]] = [
    {"init": {}},
    {"say": EVIL},
    {"touch": "ready"},
    {"wait_for": "go"},
    {"status": {"complete": False, "progress": {"completed": 1, "total": 2}, "summary": EVIL}},
    {"result": {"total_cost_usd": 0.25}},
]
LAST: list[dict[str, Any]] = [
    {"init": {}},
    {"touch": "again"},
    {"wait_for": "end"},
    {"status": {"complete": True, "progress": {"completed": 2, "total": 2}}},
    {"result": {"total_cost_usd": 0.5}},
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all tests of a worker: a start costs seconds."""
    made = Browser(Browser.found() or "")
    yield made
    made.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.page() as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "home").mkdir()
    return Project(tmp_path / "project", {"HOME": str(tmp_path / "home")})


@pytest.fixture
def served(project: Project) -> Iterator[ServedDashboard]:
    project.create("w")
    made = ServedDashboard(project.root, project.root.parent / "home")
    yield made
    made.close()


def called(page: Page, function: str, *arguments: str) -> Any:
    """What a function of the page returns."""
    return page.value(f"({function})({', '.join(map(json.dumps, arguments))})")


def verbs(loop: Loop) -> list[str]:
    return [event["verb"] for event in loop.events("Requested")]


def test_a_live_run_is_followed_and_steered_without_a_reload(loop: Loop, page: Page) -> None:
    """From the list to the page of the run; a button pauses it, another lets it go on, a note reaches it; its end is
    shown. What Claude says is text, and the browser has nothing to complain about."""
    loop.make(f"- {EVIL}\n")
    loop.script(STEP, LAST)
    run = loop.working()
    served = ServedDashboard(loop.root, loop.home)
    try:
        page.open(served.address)
        assert page.value("location.href") == served.base + "/"
        page.until("document.querySelector('.card.live .word').textContent === 'running'")
        page.click(".card .name")
        page.until(f"location.pathname === '/workspaces/my-task' && document.readyState === 'complete' && {LIVE}")
        page.value("window.same = true")
        page.until("document.querySelector('.said').innerText.includes('<script>window.bad = 1</script>')")
        page.click("[data-verb=pause]")
        page.until("document.getElementById('answer').textContent.includes('pauses after iteration 1')")
        until(lambda: verbs(loop) == ["pause"])
        page.until("!document.querySelector('[data-verb=resume]').hidden")
        assert page.value("document.querySelector('[data-verb=pause]').hidden")
        loop.go()
        page.until("document.querySelector('.state .word').textContent === 'paused'")
        page.until("document.querySelectorAll('svg.chart rect').length >= 3")  # plots are drawn when an iteration ended
        page.click("#note-box summary")
        page.click("#note-text")
        page.type("Use tabs.")
        page.click("#note button")
        page.until("document.querySelector('[data-panel=watch]').innerText.includes('Use tabs.')")
        page.click("[data-verb=resume]")
        until((loop.workspace / "again").exists)
        (loop.workspace / "end").touch()
        page.until("document.querySelector('.state .word').textContent === 'completed (not proven)'")
        assert "nothing has proven it (after 2 iterations)" in page.text("[data-panel=head]")
        assert page.value("document.querySelector('#says').textContent").startswith("my-task: completed")
        assert page.value("[...document.querySelectorAll('[data-verb]')].every((button) => button.hidden)")
        assert page.value("[window.same, window.bad === undefined]") == [True, True]
        assert page.complaints() == []
        assert loop.finish(run).code == 0
        assert verbs(loop) == ["pause", "resume"]
    finally:
        served.close()


class _Elsewhere(BaseHTTPRequestHandler):
    """A page of another origin on the same computer."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def elsewhere() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_another_page_of_the_same_browser_gets_nothing(
    page: Page, served: ServedDashboard, project: Project, elsewhere: int
) -> None:
    """Not by a request, a form, a stream or a frame, although the browser is signed in: neither from another port of
    this computer, which has the same cookies, nor from another name that leads here."""
    page.open(served.address)
    page.until(LIVE)
    layout = project.layout("w")
    before = sorted(layout.folder.rglob("*"))
    for host in ("127.0.0.1", "evil.example"):
        page.open(f"http://{host}:{elsewhere}/")
        assert called(page, POSTED, f"{served.base}/workspaces/w/notes") == ["refused", "refused"]
        assert called(page, STREAMED, f"{served.base}/workspaces/w/events") == "refused"
        assert called(page, FRAMED, served.base + "/") in {"closed", 0}
        assert page.value("document.querySelector('iframe').contentDocument?.body.innerText ?? ''") == ""
    page.open(f"http://evil.example:{served.port}/?token={served.token}")  # a name of theirs that leads to our port
    assert "This is not the address of the dashboard" in page.text()
    assert sorted(layout.folder.rglob("*")) == before


def test_a_link_from_elsewhere_arrives_signed_in(page: Page, served: ServedDashboard, elsewhere: int) -> None:
    """The strict cookie is not sent with it, so the first answer leads on to the same address from our own page."""
    page.open(served.address)
    page.open(f"http://evil.example:{elsewhere}/")
    page.value(f"location.href = {json.dumps(served.base + '/workspaces/w')}; 1")
    page.until(f"location.pathname === '/workspaces/w' && document.readyState === 'complete' && {LIVE}")


def night(layout: Layout, iterations: int) -> None:
    told: list[Any] = [RunStarted(RUN, "w", "loop", 2000, 1, "h", "0", ("claude",), "iterate.log")]
    for number in range(1, iterations + 1):
        status = Status(complete=False, completed=number, total=iterations, summary=EVIL)
        figures: dict[str, Any] = {"duration": 60.0 + number % 50, "cost_usd": 0.01 * (number % 30), "tools": 5}
        figures |= {"tokens": Tokens(100 * number, 5, 0, 0), "context": 0.4}
        told += [IterationStarted(number), IterationFinished(number, Outcome(Kind.OK), status, **figures)]
    write(layout, RUN, told)


SIZE = "document.getElementsByTagName('*').length"


def test_a_page_that_stays_open_does_not_grow(page: Page, served: ServedDashboard, project: Project) -> None:
    """A thousand iterations, then a hundred thousand events while it is open: as many elements as before, the newest
    line is there, and nothing is wider than a phone."""
    layout = project.layout("w")
    night(layout, 1000)
    page.size(390, 844, touch=True)
    page.open(served.address)
    page.open(f"{served.base}/workspaces/w")
    page.until(LIVE)
    page.until("document.querySelectorAll('svg.chart').length === 6")
    assert page.value("document.querySelectorAll('tbody tr').length") == 50
    before = page.value(SIZE)
    assert before < 5000
    writer = JournalWriter(layout.journal(RUN), pytest.fail)
    seq = 10_000
    for part in range(4):
        for number in range(25_000):
            seq += 1
            tool = events.ToolCalled(id=str(seq), name="Bash", input={"command": f"echo {part} {number}"})
            writer.append(Entry(seq, 1_767_300_000.0 + seq, float(seq), tool))
            if number % 500 == 499:
                writer.write_out()
        page.until(f"document.querySelector('#timeline li:last-child').textContent.includes('echo {part} 24999')")
    writer.close()
    assert page.value("document.querySelectorAll('#timeline li').length") == 200
    assert page.value(SIZE) < before + 1000  # 200 lines and 12 tool calls, where there were fewer
    assert page.value("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.complaints() == []


def test_a_page_says_when_the_dashboard_has_ended_and_when_it_is_another(
    page: Page, served: ServedDashboard, project: Project
) -> None:
    """It tries again by itself; a dashboard that was started again has another token."""
    page.open(served.address)
    page.until(LIVE)
    assert served.end() == 0
    page.until("document.getElementById('connection').textContent.startsWith('The dashboard has ended')")
    second = ServedDashboard(project.root, project.root.parent / "home", port=served.port)
    try:
        page.until("document.getElementById('connection').textContent.startsWith('The dashboard was started again')")
        page.open(second.address)
        page.until(LIVE)
    finally:
        second.close()


@pytest.mark.parametrize("width", [390, 1600])
def test_the_page_works_by_keyboard_and_fits(page: Page, served: ServedDashboard, project: Project, width: int) -> None:
    """Everything that can be pressed has a name and can be reached by Tab; nothing is wider than the screen; every
    chart, meter and field has a label."""
    night(project.layout("w"), 12)
    page.size(width, 900)
    page.open(served.address)
    page.open(f"{served.base}/workspaces/w")
    page.until(LIVE)
    assert page.value("document.documentElement.scrollWidth <= window.innerWidth")
    assert called(page, NAMELESS) == []
    seen = set()
    for _ in range(30):
        for kind in ("rawKeyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        seen.add(page.value("document.activeElement.textContent.trim().slice(0, 30)"))
    assert {"Skip to the content", "Workspaces", "Report", "Leave a note for the next iter"} <= seen
