"""Settings: declared once, accepted or refused with the words a person needs, united layer by layer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.settings.declared import Settings, build, canonical, catalogue
from claude_iterate.core.settings.layers import (
    Layer,
    layer_from_document,
    layer_from_environment,
    resolve,
    unknown_key,
    unknown_variables,
)
from claude_iterate.errors import SettingsProblem


def test_every_default_is_acceptable_to_its_own_kind() -> None:
    """A default that its kind refuses could not be written down in a file."""
    for setting in catalogue().values():
        if setting.default is not None:
            value = list(setting.default) if isinstance(setting.default, tuple) else setting.default
            assert setting.kind.accept(value) == setting.default, setting.key


def test_every_setting_has_a_sentence() -> None:
    """The reference page has nothing else to say."""
    assert all(setting.sentence.endswith(".") for setting in catalogue().values())


def test_a_layer_touches_only_what_it_sets() -> None:
    """A project file with one key leaves the user's other settings alone."""
    user = layer_from_document("user", "u", {"delay": 9, "claude": {"model": "opus", "args": ["-x"]}})
    project = layer_from_document("project", "p", {"claude": {"model": "haiku"}})
    found = resolve([user, project])
    assert (found.settings.delay, found.settings.claude.model, found.settings.claude.args) == (9.0, "haiku", ("-x",))
    assert found.origin("claude.model").kind == "project"
    assert found.origin("delay").kind == "user"
    assert found.origin("output").kind == "default"


@pytest.mark.parametrize(
    ("document", "output"),
    [
        ({"verbose": True}, "verbose"),
        ({"verbose": False}, "progress"),
        ({"verbose": True, "outputLevel": "quiet"}, "quiet"),
    ],
)
def test_the_original_has_verbose_too(document: dict[str, object], output: str) -> None:
    """A file of the user with it is read; `outputLevel` beside it says it better."""
    assert resolve([layer_from_document("user", "u", document)]).settings.output == output


@pytest.mark.parametrize(
    ("spelled", "key"),
    [
        ("max_iterations", "max_iterations"),
        ("maxIterations", "max_iterations"),
        ("defaultMaxIterations", "max_iterations"),
        ("outputLevel", "output"),
        ("notifyUrl", "notify.url"),
        ("notification.statusWatch.debounceMs", "notification.status_watch.debounce_ms"),
        ("claude.args", "claude.args"),
        ("verification.depth", "verification.depth"),
        ("workspacesDir", "paths.workspaces_dir"),
        ("nonsense", None),
    ],
)
def test_all_spellings_are_understood(spelled: str, key: str | None) -> None:
    """snake_case, camelCase and the original's names."""
    assert canonical(spelled) == key


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"max_iteration": 3}, "`max_iterations`"),
        ({"claude": {"modle": "x"}}, "`claude.model`"),
        ({"delay": "banana"}, "duration"),
        ({"delay": -1}, "duration"),
        ({"max_iterations": "many"}, "whole number"),
        ({"max_iterations": True}, "whole number"),
        ({"output": "loud"}, "quiet, progress, verbose"),
        ({"claude": {"args": "x"}}, "list"),
        ({"claude": {"env": {"A": 1}}}, "table"),
        ({"notification": {"statusWatch": {"debounceMs": 100}}}, "500 to 10000"),
        ({"timeouts": {"idle": 0}}, "above 0"),
        ({"limits": {"max_cost_usd": 0}}, "above 0"),
        ({"claude": {"command": []}}, "program"),
        ({"verification": {"checks": [""]}}, "non-empty"),
        ({"verification": {"checks": ["npm test", " \t\n"]}}, "non-empty"),
        ({"verification": {"checks": [3]}}, "a list"),
    ],
)
def test_what_is_wrong_is_named_with_what_was_expected(document: dict[str, object], words: str) -> None:
    """File, key, expectation or the nearest name."""
    with pytest.raises(SettingsProblem) as caught:
        layer_from_document("project", "the-file.toml", document)
    assert "the-file.toml" in caught.value.message
    assert words in caught.value.hint


def test_the_environment_is_a_layer_and_names_its_variables() -> None:
    """Dots become double underscores; a bad value names the variable."""
    layer = layer_from_environment({"CLAUDE_ITERATE_TIMEOUTS__IDLE": "1h30m", "CLAUDE_ITERATE_CLAUDE__ARGS": "a, b"})
    assert layer.values == {"timeouts.idle": 5400.0, "claude.args": ("a", "b")}
    with pytest.raises(SettingsProblem, match="CLAUDE_ITERATE_DELAY"):
        layer_from_environment({"CLAUDE_ITERATE_DELAY": "banana"})
    assert unknown_variables({"CLAUDE_ITERATE_DELAI": "1", "CLAUDE_ITERATE_RUN": "x", "PATH": "y"}) == {
        "CLAUDE_ITERATE_DELAI": "CLAUDE_ITERATE_DELAY"
    }


def test_flags_beat_everything() -> None:
    """The last layer wins."""
    layers = [Layer("environment", "", {"delay": 3.0}), Layer("flag", "", {"delay": 0.0})]
    assert resolve(layers).settings.delay == 0.0


def test_building_with_nothing_gives_the_defaults() -> None:
    """And the whole catalogue can be set at once."""
    assert build({}) == Settings()
    everything = {key: setting.default for key, setting in catalogue().items()}
    assert build(everything) == Settings()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("2d", 172800), ("500ms", 0.5), ("0", 0)],
)
def test_durations_as_people_write_them(text: str, seconds: float) -> None:
    """Numbers are seconds; units add up."""
    assert catalogue()["delay"].kind.from_text(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "1x", "1e9x", "nan", "inf", "1h-3m", "--"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """With ValueError, never something else."""
    with pytest.raises(ValueError, match="duration"):
        catalogue()["delay"].kind.from_text(text)


@given(st.text(max_size=20))
def test_any_text_is_accepted_or_refused_by_every_kind(text: str) -> None:
    """No kind raises anything but ValueError."""
    for setting in catalogue().values():
        try:
            setting.kind.from_text(text)
        except ValueError:
            continue


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
