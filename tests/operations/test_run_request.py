"""What is asked of a run: nothing of it is lost on the way to a process of its own."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict

from claude_iterate.core.events import HeldBack
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.operations.run_request import RunRequest


def test_a_request_is_the_same_in_another_process() -> None:
    """Each value of it, also those that are not the usual ones."""
    asked = RunRequest(
        settings={"delay": 7.0, "claude.allowed_tools": ("Edit",)},
        allow=("Edit",),
        skip_permissions=True,
        dry_run=True,
        cassette="000001-x",
        detailed=True,
        as_json=True,
        color=False,
        silent=True,
        again=True,
        purpose="verify",
        mode="build",
        report="report.md",
        accept_changes=True,
        checks_only=True,
        reset=True,
        command_line=CommandLine(("x", "-C", "y"), (("--delay", "7"),), "build"),
        held=HeldBack("other", 5.0),
        prompt_values={"goal": "a goal"},
    )
    usual = asdict(RunRequest())
    assert [name for name, value in asdict(asked).items() if value == usual[name]] == []
    got = msgspec.json.decode(msgspec.json.encode(asked), type=RunRequest)
    assert (got.layer, {**asdict(got), "settings": {}}) == (asked.layer, {**asdict(asked), "settings": {}})
