"""Stands before the pages: reads what a request says of itself, lets the rules judge it, and adds the headers that keep
a page closed to others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from claude_iterate.operations.dashboard.access_rules import HEADERS, POLICY, Answer, Keys, Visit, judged
from claude_iterate.system import crash_reports
from claude_iterate.views.web.drawn_page import page

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class GuardedApplication:
    """An ASGI application around another one. `entered` is called when a token was right."""

    def __init__(self, inner: Application, keys: Keys, entered: Callable[[], None]) -> None:
        self._inner = inner
        self._keys = keys
        self._entered = entered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Nothing but HTTP is spoken here."""
        if scope["type"] != "http":
            return
        begun = False

        async def closed(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                _close(MutableHeaders(scope=message))
            await send(message)

        visit = _visit(scope, self._keys.cookie)
        answer = judged(visit, self._keys)
        try:
            inner = self._inner if answer is None else self._answered(answer, visit.method)
            await inner(scope, receive, closed)
        except HTTPException as refusal:  # of the routes and the static files
            if not begun:
                answer = Answer(refusal.status_code, "There is no such page.")
                await refused(answer, visit.method)(scope, receive, closed)
        except Exception as bug:  # noqa: BLE001 - one bad page must not end the others
            path = crash_reports.write(crash_reports.text(bug, [visit.method, visit.path]))
            if begun:
                return
            hint = f"A crash report is in {path}" if path else ""
            answer = Answer(500, "This is a bug in claude-iterate.", hint)
            await refused(answer, visit.method)(scope, receive, closed)

    def _answered(self, answer: Answer, method: str) -> Response:
        if not answer.location:
            return refused(answer, method)
        self._entered()
        response = RedirectResponse(answer.location, answer.status)
        keys = self._keys
        response.set_cookie(keys.cookie, keys.session, httponly=True, samesite="strict", path="/")
        return response


def refused(answer: Answer, method: str = "GET") -> Response:
    """A page that says what is wrong, and what to do; for what a page posts, a document that it can show."""
    if method == "POST":
        return JSONResponse({"text": f"{answer.sentence} {answer.hint}".strip()}, answer.status)
    titles = {401: "Not signed in", 404: "Not found", 500: "A bug"}
    title = titles.get(answer.status, "Refused")
    shown = page("refusal_page", title=title, sentence=answer.sentence, hint=answer.hint, again=answer.again)
    return HTMLResponse(shown, answer.status)


def _close(headers: MutableHeaders) -> None:
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("content-security-policy", POLICY.format(styles=""))


def _visit(scope: Scope, cookie: str) -> Visit:
    headers = Headers(scope=scope)
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    tokens = [value for name, value in query if name == "token"]
    rest = urlencode([(name, value) for name, value in query if name != "token"])
    return Visit(
        scope["method"],
        scope["path"],
        tuple(headers.getlist("host")),
        headers.get("origin"),
        headers.get("sec-fetch-site"),
        tokens[0] if tokens else None,
        cookie_parser(headers.get("cookie", "")).get(cookie),
        rest,
    )
