"""Secrets stay out of what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from claude_iterate.core.events import (
    AssistantText,
    Denial,
    Event,
    IterationFinished,
    Outcome,
    ResultReported,
    RunFinished,
    StatusChanged,
    ToolCalled,
)
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.redact import (
    MASK,
    SHAPES,
    WORDS,
    Redactor,
    changed_settings,
    is_secret_name,
    mask_setting,
    redactor_for,
)
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.settings.declared import Settings, build, catalogue

ENVIRONMENT = {"GITHUB_TOKEN": "very-secret-value", "HOME": "/home/somebody", "ANTHROPIC_API_KEY": 'quo"ted-secret'}


@pytest.mark.parametrize(
    "secret",
    [
        "very-secret-value",
        'quo"ted-secret',
        "sk-ant-api03-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_secret_is_suspected_and_masked(secret: str) -> None:
    """Known shapes, and the values of variables whose names speak of secrets."""
    redactor = Redactor(ENVIRONMENT)
    text = f"before {secret} after"
    assert redactor.suspects(text.encode())
    assert redactor.clean(text) == f"before {MASK} after"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Authorization: Bearer abc.def", f"Authorization: Bearer {MASK}"),
        ("-H 'authorization: bearer abc123=='", f"-H 'authorization: bearer {MASK}'"),
        ("'Authorization': 'Bearer abcdefghijklmnopqrst1'", f"'Authorization': 'Bearer {MASK}'"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {MASK}"),
        ("x-api-key: 0123456789", f"x-api-key: {MASK}"),
        ("Authorization: Bearer $TOKEN", "Authorization: Bearer $TOKEN"),
        ("the bearer authentication-mechanisms", "the bearer authentication-mechanisms"),
    ],
)
def test_a_login_in_a_header_is_masked(text: str, cleaned: str) -> None:
    """The words around it stay, and so do variables and prose."""
    redactor = Redactor({})
    assert redactor.clean(text) == cleaned
    assert redactor.suspects(text.encode()) or text == cleaned


def test_a_value_escaped_in_json_is_found() -> None:
    """Claude prints JSON; a quote in a secret is escaped there."""
    assert Redactor(ENVIRONMENT).suspects(b'{"text": "quo\\"ted-secret"}')


FRAGMENTS = sorted({*SHAPES, "very-secret-value", "plainsecretvalue", "sk-", "A", "K", "z", "_", "-", "J", " ", "x"})


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=6), st.integers(0, 3), st.integers(0, 3))
def test_exactly_the_known_characters_are_suspected(parts: list[str], first: int, last: int) -> None:
    """A part of a secret is none."""
    values = ("very-secret-value", "plainsecretvalue")
    text = "".join(parts)
    text = text[first : len(text) - last]
    redactor = Redactor({f"TOKEN{number}": value for number, value in enumerate(values)})
    assert redactor.suspects(f"...{text}...".encode()) is any(needle in text for needle in (*SHAPES, *values))


def test_ordinary_text_is_left_alone() -> None:
    """Paths and short values are no secrets."""
    redactor = Redactor(ENVIRONMENT | {"MY_KEY": "short"})
    text = "the task-list in /home/somebody is short, npm_config too"
    assert redactor.clean(text) == text


def test_every_text_of_an_event_is_cleaned() -> None:
    """Also deep within a tool's input, and where Claude Code uses words of its own."""
    redactor = Redactor(ENVIRONMENT)
    call = ToolCalled("1", "Bash", {"command": "echo very-secret-value", "deep": [{"x": "very-secret-value"}]})
    assert redactor.clean_event(call) == ToolCalled("1", "Bash", {"command": f"echo {MASK}", "deep": [{"x": MASK}]})
    assert redactor.clean_event(AssistantText("very-secret-value")) == AssistantText(MASK)
    said, masked = (ResultReported(denials=(Denial("a", why=x),), signs=(x,)) for x in ("very-secret-value", MASK))
    assert redactor.clean_event(said) == masked


TEXTS = frozenset(
    """
    about_claim advice again agent_version allowed_by blocked blockers cause changed command cwd denied description
    detail doing error error_said errors evidence facts findings flaky gone hint hooks_failed how input instructions
    message next output path pattern phase problem problems processes red results said settings
    shown_by signs status_instructions structured summary system_prompt tests text to_prove trigger tripped
    trouble why work
    """.split()  # noqa: SIM905 - one name per line would take a page
)


def structs(kind: Any) -> Iterator[Any]:
    """All structs that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from structs(field.type)
    for part in get_args(kind):
        yield from structs(part)


def holds_text(kind: Any) -> bool:
    """True for a type that can hold a string of any kind; structs within it are looked at by themselves."""
    if kind is Any or isinstance(kind, str) or (isinstance(kind, type) and issubclass(kind, str)):
        return True
    return any(holds_text(part) for part in get_args(kind))


def test_every_field_of_every_event_is_a_word_or_a_text() -> None:
    """A new field is listed in WORDS if the code reads it, else here."""
    found = {field.name for kind in structs(Event) for field in msgspec.structs.fields(kind) if holds_text(field.type)}
    assert found == WORDS | TEXTS
    assert not WORDS & TEXTS


@pytest.mark.parametrize("word", ["completed", "transient", "Completed", "COMPLETED", "short"])
def test_a_plain_word_is_no_secret(word: str) -> None:
    """Whatever the name of its variable: it would be masked in every other sentence."""
    assert Redactor({"AUTH_STATE": word}).clean(f"it is {word}") == f"it is {word}"


@pytest.mark.parametrize(
    "secret", ["max_iterations", "pass-word", "correcthorsebatterystaple", "hunter22", "Tr0ub4dor"]
)
def test_what_is_not_plain_is_a_secret(secret: str) -> None:
    """Eight characters and more than one kind of them, or too many for a word."""
    assert Redactor({"MY_PASSWORD": secret}).clean(f"it is {secret}") == f"it is {MASK}"


def test_what_settings_declare_secret_is_masked() -> None:
    """However plain: a variable's name may mislead, a setting of that name does not."""
    settings = Settings(notify=replace(Settings().notify, secret="swordfishsword", headers={"X-A": "plainplain"}))
    cleaned = redactor_for({}, settings).clean("swordfishsword and plainplain")
    assert cleaned == f"{MASK} and {MASK}"


def test_words_that_decide_are_never_masked() -> None:
    """An event means the same after cleaning, whatever the environment holds."""
    redactor = Redactor({"A_KEY": "usage_limit", "B_KEY": "max_iterations", "C_KEY": "five_hour", "D_KEY": "id-12345"})
    finished = IterationFinished(
        1, Outcome(Kind.USAGE_LIMIT, "a usage_limit", resets_at=1.0, window="five_hour"), session="id-12345"
    )
    assert redactor.clean_event(finished) == IterationFinished(
        1, Outcome(Kind.USAGE_LIMIT, f"a {MASK}", resets_at=1.0, window="five_hour"), session="id-12345"
    )
    assert redactor.clean_event(RunFinished("max_iterations", "max_iterations")) == RunFinished("max_iterations", MASK)
    report = StatusChanged(Status(False, summary="id-12345", blockers=("id-12345",)), Change(items=1))
    assert redactor.clean_event(report) == StatusChanged(Status(False, summary=MASK, blockers=(MASK,)), Change(items=1))


def test_a_tools_own_names_are_texts() -> None:
    """Within what a tool was given nothing is a word of ours, not even a key."""
    call = ToolCalled("1", "Bash", {"kind": "very-secret-value", "very-secret-value": {"id": ("very-secret-value",)}})
    assert Redactor(ENVIRONMENT).clean_event(call) == ToolCalled("1", "Bash", {"kind": MASK, MASK: {"id": (MASK,)}})


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("GITHUB_TOKEN", True),
        ("HTTP_AUTHORIZATION", True),
        ("PROXY_AUTH", True),
        ("npm_config__auth", True),
        ("GIT_AUTHOR_NAME", False),
        ("XAUTHORITY", False),
        ("KEYBOARD", False),
        ("HOME", False),
    ],
)
def test_names_that_speak_of_secrets(name: str, secret: bool) -> None:
    """An author is not an authorization."""
    assert is_secret_name(name) is secret


def test_defaults_are_left_out() -> None:
    """A value that equals its default says nothing."""
    assert changed_settings(build({})) == {}
    assert changed_settings(build({"delay": catalogue()["delay"].default, "max_iterations": 7})) == {
        "max_iterations": 7
    }


def test_groups_lists_and_secrets() -> None:
    """By dotted key, as JSON has it; secrets are covered, whatever holds them."""
    found = changed_settings(
        build(
            {
                "timeouts.idle": 5.0,
                "claude.command": ("claude", "--x"),
                "notify.secret": "hunter2hunter2",
                "notify.url": "https://me:pw@ntfy.sh/t?auth=tk_1",
                "claude.env": {"MY_TOKEN": "tk_2", "EDITOR": "vi"},
                "claude.args": ("sk-ant-0123456789abcdef",),
            }
        )
    )
    assert found == {
        "timeouts.idle": 5,
        "claude.command": ["claude", "--x"],
        "claude.args": ["***"],
        "claude.env": {"MY_TOKEN": "***", "EDITOR": "vi"},
        "notify.secret": "***",
        "notify.url": "https://***@ntfy.sh/***?***",
    }


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://ntfy.sh/topic", "https://ntfy.sh/***"),
        ("https://ntfy.sh//topic", "https://ntfy.sh//***"),
        ("https://ntfy.sh/topic/", "https://ntfy.sh/***/"),
        ("https://hooks.example/a//b/token//", "https://hooks.example/a//b/***//"),
        ("https://ntfy.sh/topic#a/b", "https://ntfy.sh/***#***"),
        ("https://ntfy.sh", "https://ntfy.sh"),
    ],
)
def test_the_end_of_an_address_is_covered_however_it_is_written(url: str, expected: str) -> None:
    """What a service takes for the topic or the token: the last part of the path that is not empty."""
    assert mask_setting("notify.url", url) == expected
