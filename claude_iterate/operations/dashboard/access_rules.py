"""Who may see and steer: the rules for every request to the dashboard. Pure, but for the comparison of secrets.

Other programs of this computer, other users of it and every page that the browser has open can send requests here.
"""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from urllib.parse import quote

import msgspec

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""Of every answer, beside the policy."""
_OPEN = "/static/"
"""Our own style sheet and script: they are in every copy of the package."""


class AccessKeys(msgspec.Struct, frozen=True):
    """What opens the dashboard: the token of the printed address, and the value of the cookie that it is changed for.
    `names` are the hosts that an address may have; `addresses`: any IP address, too."""

    token: str
    session: str
    cookie: str
    names: frozenset[str] = LOOPBACK
    addresses: bool = False


class Visit(msgspec.Struct, frozen=True):
    """What a request says of itself. `site` is Sec-Fetch-Site, which pages cannot forge."""

    method: str
    path: str
    hosts: tuple[str, ...]
    origin: str | None = None
    site: str | None = None
    token: str | None = None
    cookie: str | None = None

    @property
    def wants_events(self) -> bool:
        """It asks for the stream of a page."""
        return self.path.endswith("/events")


class AccessAnswer(msgspec.Struct, frozen=True):
    """What is answered instead of the page: a refusal, or after a right token where to go on."""

    status: int
    sentence: str
    hint: str = ""
    location: str = ""
    again: str = ""
    """An address that is worth a second try, from our own page."""


_PRINTED = "Open the address that `claude-iterate dashboard` printed; the token is at its end."


def refuse_or_redirect(visit: Visit, keys: AccessKeys) -> AccessAnswer | None:
    """None when the request is allowed."""
    if len(visit.hosts) != 1 or not _is_own_host(visit.hosts[0], keys):
        hint = "Use the printed address. To listen under another name: claude-iterate dashboard --host NAME"
        return AccessAnswer(421, "This is not the address of the dashboard.", hint)
    if visit.method not in {"GET", "HEAD", "POST"}:
        return AccessAnswer(405, "The dashboard does not know this method.")
    if _comes_from_elsewhere(visit):
        return AccessAnswer(403, "Another page has sent this, so nothing was done.")
    if visit.path.startswith(_OPEN):
        return None
    if visit.token is not None and visit.method == "GET":
        if not _same(visit.token, keys.token):
            return AccessAnswer(403, "The token is wrong.", _PRINTED)
        return AccessAnswer(303, "Come in.", location="/")
    if not is_known(visit, keys):
        return AccessAnswer(401, "The dashboard does not know this browser yet.", _PRINTED, again=_second_try(visit))
    return None


def is_known(visit: Visit, keys: AccessKeys) -> bool:
    """It shows the cookie, so it comes from a browser of the owner."""
    return _same(visit.cookie or "", keys.session)


def _is_own_host(host: str, keys: AccessKeys) -> bool:
    """A page elsewhere can give its own name our address (DNS rebinding), but it cannot call itself `localhost`."""
    name = _host_name(host)
    if name in keys.names:
        return True
    try:
        return bool(keys.addresses and ip_address(name))
    except ValueError:
        return False


def _host_name(host: str) -> str:
    """Without the port: a tunnel may have another one here. Empty for what is no host with a port."""
    host = host.strip().lower()
    name, _, port = host[1:].partition("]") if host.startswith("[") else host.partition(":")
    return name.rstrip(".") if not port or port.removeprefix(":").isdecimal() else ""


def _comes_from_elsewhere(visit: Visit) -> bool:
    """What changes something, and a stream, must come from our own page. A page on another port of this computer is
    another page, although its cookies are the same."""
    own = {f"http://{visit.hosts[0]}", f"https://{visit.hosts[0]}"}
    if visit.method == "POST":
        return visit.origin not in own or visit.site not in {None, "same-origin"}
    if visit.wants_events:
        return visit.origin not in {None, *own} or visit.site not in {None, "same-origin"}
    return visit.origin not in {None, "null", *own}


def _same(given: str, right: str) -> bool:
    """In a time that does not tell how much of it was right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def _second_try(visit: Visit) -> str:
    """A link from elsewhere comes without the cookie, because it is SameSite=Strict; from our own page it has it."""
    if visit.method != "GET" or visit.site != "cross-site" or visit.wants_events:
        return ""
    return "/" + quote(visit.path.lstrip("/\\"), safe="/-._~")  # a path that begins with two slashes is another host's
