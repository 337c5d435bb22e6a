"""What a run had set: everything that differs from the defaults, and no secret."""

from __future__ import annotations

import pytest

from claude_iterate.core.secrets.masked_settings import differing, masked_setting
from claude_iterate.core.settings.catalogue import build, catalogue


def test_defaults_are_left_out() -> None:
    """A value that equals its default says nothing."""
    assert differing(build({})) == {}
    assert differing(build({"delay": catalogue()["delay"].default, "max_iterations": 7})) == {"max_iterations": 7}


def test_groups_lists_and_secrets() -> None:
    """By dotted key, as JSON has it; secrets are covered, whatever holds them."""
    found = differing(
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
    assert masked_setting("notify.url", url) == expected
