"""What each kind of setting takes, what it refuses, and how a typed text is read."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.settings.declared import Settings, build, catalogue
from claude_iterate.core.settings.layers import layer_from_document, unknown_key, unknown_variables

TAKEN: list[tuple[str, Any, Any]] = [
    ("claude.model", "opus", "opus"),
    ("max_iterations", 3.0, 3),
    ("keep_raw_runs", 1, 1),
    ("context_redline", 100, 100),
    ("limits.max_cost_usd", 1, 1.0),
    ("limits.max_cost_usd", 0.5, 0.5),
    ("claude.command", "claude", ("claude",)),
    ("claude.command", ["nice", "claude"], ("nice", "claude")),
    ("verification.checks", ["npm test"], ("npm test",)),
    ("limits.patterns", ["quota (is )?used"], ("quota (is )?used",)),
    ("notify.url", " http://host:80/x ", "http://host:80/x"),
    ("notify.url", "https://host", "https://host"),
    ("notify.url", "", ""),
    (
        "notify.report_url",
        "https://host/{project}/{workspace}/{run}.html",
        "https://host/{project}/{workspace}/{run}.html",
    ),
    ("verification.report_filename", "review.md", "review.md"),
    ("limits.reserve", {"five_hour": 100, "seven_day": 0}, {"five_hour": 100.0, "seven_day": 0.0}),
]
REFUSED: list[tuple[str, Any]] = [
    ("claude.model", 3),
    ("claude.model", "a\0b"),
    ("claude.model", "a\ud800b"),
    ("claude.model", "a\udfffb"),
    ("max_iterations", 3.5),
    ("max_iterations", None),
    ("max_iterations", float("inf")),
    ("context_redline", 101),
    ("context_redline", 0),
    ("delay", 1e10),
    ("colors", 1),
    ("limits.max_cost_usd", "1"),
    ("limits.max_cost_usd", float("inf")),
    ("limits.max_cost_usd", True),
    ("claude.command", "claude\0"),
    ("claude.command", ["claude", ""]),
    ("claude.command", {"claude": 1}),
    ("claude.env", {"": "x"}),
    ("claude.env", {"A=B": "x"}),
    ("claude.env", {3: "x"}),
    ("limits.patterns", [".*"]),
    ("limits.patterns", ["("]),
    ("notify.url", "ftp://host"),
    ("notify.report_url", "https://host/{name}.html"),
    ("notify.report_url", "{run}.html"),
    ("notify.url", "https://"),
    ("notify.url", "https://host:0/"),
    ("notify.url", "https://host/a b"),
    ("verification.report_filename", " "),
    ("verification.report_filename", "a/b"),
    ("verification.report_filename", "a\\b"),
    ("verification.report_filename", "."),
    ("verification.report_filename", ".."),
    ("verification.report_filename", "TODO.md"),
    ("limits.reserve", {"five_hour": 100.5}),
    ("limits.reserve", {"five_hour": -1}),
    ("notify.headers", {"X-A": "a\nX-B: b"}),
    ("notify.headers", {"X A": "a"}),
]


@pytest.mark.parametrize(("key", "given", "value"), TAKEN)
def test_what_is_taken(key: str, given: Any, value: Any) -> None:
    """As the program uses it."""
    taken = catalogue()[key].kind.accept(given)
    assert (taken, type(taken)) == (value, type(value))


@pytest.mark.parametrize(("key", "given"), REFUSED)
def test_what_is_refused(key: str, given: Any) -> None:
    """With what was expected, and never with another error."""
    kind = catalogue()[key].kind
    with pytest.raises(ValueError, match=r".") as caught:
        kind.accept(given)
    assert str(caught.value) == kind.expected


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("claude.args", "--a, --b", ("--a", "--b")),
        ("claude.args", '["--a, b"]', ("--a, b",)),
        ("limits.patterns", "one, two", ("one, two",)),
        ("claude.command", '["nice", "claude"]', ("nice", "claude")),
        ("claude.command", " claude ", ("claude",)),
        ("limits.max_cost_usd", "$2.50", 2.5),
        ("colors", "off", False),
        ("max_iterations", "7", 7),
    ],
)
def test_how_a_text_is_read(key: str, text: str, value: Any) -> None:
    """Lists by comma or as JSON; a pattern may have a comma in it."""
    assert catalogue()[key].kind.from_text(text) == value


@pytest.mark.parametrize(
    ("key", "text"), [("max_iterations", "many"), ("claude.args", "[" * 100_000), ("claude.env", "{")]
)
def test_a_text_that_cannot_be_read_is_refused(key: str, text: str) -> None:
    """One that is nested too deep is no crash."""
    with pytest.raises(ValueError, match=r"table|list|number"):
        catalogue()[key].kind.from_text(text)


def test_settings_are_equal_when_all_their_values_are() -> None:
    """And only to settings of the same group."""
    assert build({"delay": 3.0}) == build({"delay": 3.0}) != build({"delay": 4.0})
    assert build({"stop.failures": 1}).stop != Settings().stop


def test_a_null_means_unset_only_where_nothing_is_the_default() -> None:
    """A file of the original may have them."""
    assert layer_from_document("project", "f", {"claude": {"model": None}}).values == {}


def test_an_unknown_name_gets_the_nearest_one() -> None:
    """Names of groups and of the original count; nothing near is nothing said."""
    assert "`verification`" in unknown_key("verifikation", "f").hint
    assert "`defaultDelay`" in unknown_key("defaultDelai", "").hint
    assert unknown_key("defaultDelai", "").message.startswith("Unknown setting")
    assert "Did you mean" not in unknown_key("zzz", "f").hint


def test_our_own_variables_are_no_unknown_settings() -> None:
    """Those that tell a run who it is, and those of tests."""
    names = ("RUN", "WORKSPACE", "MOCK_LOG", "CONFIG_DIR", "FAKE_SCRIPT", "FAKE_STATE", "FAKE_PACE", "TEST_CLAUDE")
    environ = {f"CLAUDE_ITERATE_{name}": "x" for name in (*names, "DELAY", "DELAYS")}
    assert unknown_variables(environ | {"HOME": "x"}) == {"CLAUDE_ITERATE_DELAYS": "CLAUDE_ITERATE_DELAY"}
