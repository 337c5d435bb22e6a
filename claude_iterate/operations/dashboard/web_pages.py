"""The pages of the dashboard and what they can ask for: the same requests as the commands. Reading changes nothing."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from claude_iterate.errors import ExpectedError, WorkspaceProblem
from claude_iterate.operations.dashboard.access_rules import (
    HEADERS,
    POLICY,
    AccessAnswer,
    AccessKeys,
    Visit,
    is_known,
    refuse_or_redirect,
)
from claude_iterate.operations.dashboard.connection import Connection
from claude_iterate.operations.dashboard.page_followers import NOTHING, PageFollower, PageFollowers, change
from claude_iterate.operations.steering import ask
from claude_iterate.system.crash_reports import write_crash_report
from claude_iterate.views.night_report import night_report
from claude_iterate.views.pages import listing_page, report_pages, run_page
from claude_iterate.views.pages.drawn_page import STATIC, Drawn, page
from claude_iterate.views.pages.listing_page import WatchedProject
from claude_iterate.views.pages.run_page import WatchedRun
from claude_iterate.views.story import RECENT
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import notes

_FIRST = 0.6
"""Seconds that a page waits for its first picture; a long journal takes more, and the page says how far it is."""
_TICK = 10.0
_LARGEST = 2 * notes.LARGEST
_MOST_STREAMS = 8
"""Open pages of one address; a browser opens six."""
_VERBS = (
    ("pause", "Pause", "Let this iteration finish, then hold."),
    ("resume", "Resume", "Continue after the pause."),
    ("retry", "Retry", "End the wait and try again now."),
    ("skip", "Skip", "End this iteration now and begin the next?"),
    ("stop", "Stop", "End the run after this iteration?"),
)
_Form = TypeVar("_Form")


class NotThere(ExpectedError):
    """An address that leads to nothing."""


class WebPages:
    """The pages of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.followers = PageFollowers()
        self._streams: Counter[str] = Counter()

    def application(self) -> Router:
        """The routes. Names are one part of a path, so none can lead elsewhere."""
        workspace = "/workspaces/{name}"
        return Router(
            routes=[
                Route("/", self.listing),
                Route("/events", self.events),
                Mount("/static", StaticFiles(directory=STATIC)),
                *(
                    Route(place + page_of_run, endpoint)
                    for place in (workspace, workspace + "/runs/{run}")
                    for page_of_run, endpoint in (("", self.run), ("/events", self.events), ("/report", self.report))
                ),
                Route(f"{workspace}/requests", self.request, methods=["POST"]),
                Route(f"{workspace}/notes", self.note, methods=["POST"]),
                Route("/{rest:path}", self.nothing),
            ]
        )

    async def nothing(self, _request: Request) -> Response:
        """Any other address."""
        raise NotThere("There is no such page.", "Go back to the workspaces.")

    async def listing(self, _request: Request) -> Response:
        """All workspaces."""
        drawn = await self._first_drawn(self._follower("", ""), listing_page.unread_page())
        values = {"title": drawn.title, "project": self._project.root.name, "drawn": drawn}
        return HTMLResponse(page("listing_page", events="/events", now=time.time(), **values))

    async def run(self, request: Request) -> Response:
        """One run: the newest of a workspace, or a certain one."""
        layout, run = self._read_address(request)
        drawn = await self._first_drawn(self._follower(layout.name, run), run_page.unread_page(layout.name))
        here = f"/workspaces/{layout.name}" + (f"/runs/{run}" if run else "")
        shown = page(
            "run_page",
            title=drawn.title,
            name=layout.name,
            run=run,
            drawn=drawn,
            verbs=_VERBS,
            report=f"{here}/report",
            events=f"{here}/events",
            now=time.time(),
            most=RECENT,
        )
        return HTMLResponse(shown)

    async def _first_drawn(self, follower: PageFollower, unread: Drawn) -> Drawn:
        """The page, if it is drawn soon; else one that says that it is read."""
        await follower.wait_for_news(NOTHING, _FIRST)
        return follower.drawn.over(unread)

    async def events(self, request: Request) -> Response:
        """The stream of a page: all of it, then what changes."""
        layout, run = self._read_address(request) if "name" in request.path_params else (None, "")
        client = request.client.host if request.client is not None else ""
        if self._streams[client] >= _MOST_STREAMS:
            return refusal_page(AccessAnswer(503, "Too many pages of the dashboard are open.", "Close some of them."))
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        follower = self._follower(layout.name if layout is not None else "", run)
        return StreamingResponse(self._stream(follower, client), media_type="text/event-stream")

    async def _stream(self, follower: PageFollower, client: str) -> AsyncIterator[str]:
        shown = NOTHING
        self._streams[client] += 1
        with follower.watched(), contextlib.ExitStack() as at_the_end:
            at_the_end.callback(self._streams.subtract, [client])
            yield "retry: 2000\n\n"
            yield _message("tick", {"now": round(time.time(), 1)})
            while not follower.closed:
                if await follower.wait_for_news(shown, _TICK) and not follower.closed:
                    before, shown = shown, follower.drawn
                    yield _message("change", change(before, shown))
                else:
                    yield _message("tick", {"now": round(time.time(), 1)})
        if self.followers.closed:
            yield _message("bye", {})

    async def report(self, request: Request) -> Response:
        """The morning report, as the command writes it."""
        layout, run = self._read_address(request)
        try:
            made = await run_in_threadpool(night_report, layout, run or None, time.time())
        except WorkspaceProblem as problem:
            raise NotThere(problem.message, problem.hint) from None
        text = await run_in_threadpool(report_pages.html, made)
        style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(style[1].encode() if style else b"").digest()).decode()
        headers = {"content-security-policy": POLICY.format(styles=f" 'sha256-{digest}'")}
        return HTMLResponse(text, headers=headers)

    async def request(self, request: Request) -> Response:
        """`pause`, `resume`, `stop`, `skip`, `retry`: what the commands send, and what the run answers."""
        layout, _ = self._read_address(request)
        asked = await _read_document(request, _Steering)
        reply = await run_in_threadpool(ask, layout, asked.verb)
        self.followers.nudge(layout.name)
        return JSONResponse({"text": reply.text, "answered": reply.answered})

    async def note(self, request: Request) -> Response:
        """A note for the next iteration."""
        layout, _ = self._read_address(request)
        noted = await _read_document(request, _Note)
        await run_in_threadpool(notes.add, layout, noted.text)
        self.followers.nudge(layout.name)
        return JSONResponse({"text": "Noted for the next iteration."})

    def _read_address(self, request: Request) -> tuple[Layout, str]:
        """The workspace and the run that the address names, if they exist."""
        name, run = str(request.path_params["name"]), str(request.path_params.get("run", ""))
        try:
            layout = self._project.layout(name)
        except ExpectedError as problem:
            raise NotThere(problem.message, problem.hint) from None
        if run and run not in layout.run_ids():
            raise NotThere(f"{name} has no run {run!r}.", f"See: claude-iterate logs {name} --list")
        return layout, run

    def _follower(self, name: str, run: str) -> PageFollower:
        if not name:
            return self.followers.of("/", WatchedProject(self._project).draw)
        layout = self._project.layout(name)
        return self.followers.of(f"/workspaces/{name}/{run}", WatchedRun(layout, run).draw)


def _message(event: str, document: dict[str, Any]) -> str:
    """One event of a stream. JSON has no line breaks, so none can end it early."""
    return f"event: {event}\ndata: {json.dumps(document)}\n\n"


class _Steering(msgspec.Struct, frozen=True):
    """What a button of the page sends."""

    verb: Literal["pause", "resume", "retry", "skip", "stop"]


class _Note(msgspec.Struct, frozen=True):
    """What the field for a note sends."""

    text: str


async def _read_document(request: Request, form: type[_Form]) -> _Form:
    """What was sent: a small JSON object, and nothing that a form of another page could send."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise ExpectedError("The dashboard takes JSON only.")
    data = b""
    try:
        async for part in request.stream():
            data += part
            if len(data) > _LARGEST:
                raise ExpectedError("That is too long.", "Put it into a file of the project, and name it in a note.")
        return msgspec.json.decode(data, type=form)
    except (ValueError, RecursionError, ClientDisconnect):  # msgspec.DecodeError is a ValueError
        raise ExpectedError("The dashboard does not understand what was sent.") from None


class GuardedApplication:
    """An ASGI application around another one. `entered` is called when a token was right."""

    def __init__(self, inner: ASGIApp, keys: AccessKeys, entered: Callable[[], None]) -> None:
        self._inner = inner
        self._keys = keys
        self._entered = entered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Nothing but HTTP is spoken here."""
        if scope["type"] != "http":
            return
        begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("content-security-policy", POLICY.format(styles=""))
            await send(message)

        visit = _visit(scope, self._keys.cookie)
        if is_known(visit, self._keys):
            Connection.strangers.pop(scope.get("client"), None)
        answer = refuse_or_redirect(visit, self._keys)
        try:
            inner = self._inner if answer is None else self._respond(answer, visit.method)
            await inner(scope, receive, send_guarded)
        except HTTPException as refusal:  # of the routes and the static files
            answer = AccessAnswer(refusal.status_code, "There is no such page.")
        except ExpectedError as problem:
            answer = AccessAnswer(404 if isinstance(problem, NotThere) else 409, problem.message, problem.hint)
        except Exception as bug:  # noqa: BLE001 - one bad page must not end the others
            path, _ = write_crash_report(bug, [visit.method, visit.path])
            hint = f"A crash report is in {path}" if path else ""
            answer = AccessAnswer(500, "This is a bug in claude-iterate.", hint)
        if answer is not None and not begun:
            await refusal_page(answer, visit.method)(scope, receive, send_guarded)

    def _respond(self, answer: AccessAnswer, method: str) -> Response:
        if not answer.location:
            return refusal_page(answer, method)
        self._entered()
        response = RedirectResponse(answer.location, answer.status)
        keys = self._keys
        response.set_cookie(keys.cookie, keys.session, httponly=True, samesite="strict", path="/")
        return response


def refusal_page(answer: AccessAnswer, method: str = "GET") -> Response:
    """A page that says what is wrong, and what to do; for what a page posts, a document that it can show."""
    if method == "POST":
        return JSONResponse({"text": f"{answer.sentence} {answer.hint}".strip()}, answer.status)
    titles = {401: "Not signed in", 404: "Not found", 500: "A bug"}
    title = titles.get(answer.status, "Refused")
    shown = page("refusal_page", title=title, sentence=answer.sentence, hint=answer.hint, again=answer.again)
    return HTMLResponse(shown, answer.status)


def _visit(scope: Scope, cookie: str) -> Visit:
    request = Request(scope)
    return Visit(
        request.method,
        scope["path"],
        tuple(request.headers.getlist("host")),
        request.headers.get("origin"),
        request.headers.get("sec-fetch-site"),
        request.query_params.get("token"),
        request.cookies.get(cookie),
    )
