"""Who may see and steer through the dashboard: every way in, and every way that stays closed."""

from __future__ import annotations

import pytest

from claude_iterate.operations.dashboard.access_rules import AccessKeys, Visit, refuse_or_redirect

KEYS = AccessKeys("right-token", "right-session", "c")
EVERYWHERE = AccessKeys("right-token", "right-session", "c", frozenset({"localhost", "box", "0.0.0.0"}), addresses=True)
OWN = "127.0.0.1:8611"


def visit(method: str = "GET", path: str = "/", host: str = OWN, **more: str | None) -> Visit:
    """A request of our own page, unless it is said otherwise."""
    return Visit(method, path, (host,), **{"cookie": "right-session", **more})


@pytest.mark.parametrize(
    "allowed",
    [
        visit(),
        visit("HEAD"),
        visit(host="localhost:8611"),
        visit(host="localhost:9000"),  # a tunnel has another port here
        visit(host="[::1]:8611"),
        visit(host="LOCALHOST."),
        visit(site="cross-site"),  # a bookmark, a link
        visit(path="/events"),
        visit(path="/workspaces/a/events", site="same-origin", origin=f"http://{OWN}"),
        visit("POST", origin=f"http://{OWN}", site="same-origin"),
        visit("POST", host="localhost:9000", origin="http://localhost:9000"),
        visit(path="/static/dashboard.css", cookie=None),
    ],
)
def test_our_own_page_may_do_everything(allowed: Visit) -> None:
    """With the cookie, from our own page, under one of our own names."""
    assert refuse_or_redirect(allowed, KEYS) is None


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        (visit(host="evil.example"), 421),
        (visit(host="evil.example:8611"), 421),
        (visit(host="127.0.0.1.evil.example"), 421),
        (visit(host="localhost@evil.example"), 421),
        (visit(host="127.0.0.1:1@evil.example"), 421),
        (visit(host="[::1]@evil.example"), 421),
        (visit(host="192.168.1.5:8611"), 421),
        (visit(host=""), 421),
        (visit(path="/static/dashboard.css", host="evil.example"), 421),
        (Visit("GET", "/", (), cookie="right-session"), 421),
        (Visit("GET", "/", (OWN, "evil.example"), cookie="right-session"), 421),
        (visit("PUT", origin=f"http://{OWN}"), 405),
        (visit("OPTIONS"), 405),
        (visit("POST"), 403),  # every browser says where it comes from
        (visit("POST", origin="null"), 403),
        (visit("POST", origin="https://evil.example"), 403),
        (visit("POST", origin="http://127.0.0.1:6666"), 403),  # another port is another page
        (visit("POST", origin=f"http://{OWN}", site="same-site"), 403),
        (visit("POST", origin=f"http://{OWN}", site="cross-site"), 403),
        (visit(path="/events", origin="http://127.0.0.1:6666"), 403),
        (visit(path="/events", origin="null"), 403),
        (visit(path="/events", site="same-site"), 403),
        (visit(path="/workspaces/a/events", site="cross-site"), 403),
        (visit(origin="https://evil.example"), 403),
        (visit(cookie=None), 401),
        (visit(cookie=""), 401),
        (visit(cookie="right-sessio"), 401),
        (visit(cookie="right-token"), 401),  # the token alone opens nothing as a cookie
        (visit(path="/events", cookie=None), 401),
        (visit(token="wrong"), 403),
        (visit(token=""), 403),
        (visit(token="right-session"), 403),
        (visit("POST", token="right-token", origin=f"http://{OWN}", cookie=None), 401),
    ],
)
def test_all_others_are_refused(refused: Visit, status: int) -> None:
    """Whatever one thing is wrong, although the rest is right."""
    answer = refuse_or_redirect(refused, KEYS)
    assert answer is not None
    assert answer.status == status
    assert not answer.location


def test_the_right_token_leads_to_the_first_page() -> None:
    """To an address without it, on this host."""
    answer = refuse_or_redirect(visit(path="//evil.example/", token="right-token", cookie=None), KEYS)
    assert answer is not None
    assert (answer.status, answer.location) == (303, "/")


@pytest.mark.parametrize(
    ("path", "again"),
    [
        ("/workspaces/a", "/workspaces/a"),
        ("//evil.example/", "/evil.example/"),
        ("/\\evil.example", "/evil.example"),
        ("/a\r\nSet-Cookie: x", "/a%0D%0ASet-Cookie%3A%20x"),
    ],
)
def test_only_a_page_that_was_reached_by_a_link_is_tried_a_second_time(path: str, again: str) -> None:
    """The cookie is not sent with a link from elsewhere, but from our own page; a second time it is missing."""
    for site in ("cross-site", "same-origin", "none", None):
        answer = refuse_or_redirect(visit(path=path, cookie=None, site=site), KEYS)
        assert answer is not None
        assert (answer.status, answer.again) == (401, again if site == "cross-site" else "")


@pytest.mark.parametrize("host", ["192.168.1.5:8611", "[fe80::1]:8611", "box:8611", "0.0.0.0:8611"])
def test_a_dashboard_for_other_computers_answers_to_addresses_and_its_own_names(host: str) -> None:
    """No page can make a name of its own out of an address."""
    assert refuse_or_redirect(visit(host=host), EVERYWHERE) is None
    answer = refuse_or_redirect(visit(host="evil.example:8611"), EVERYWHERE)
    assert answer is not None
    assert answer.status == 421
