"""The order for a run in a process of its own: nothing that was asked for is lost on the way."""

from __future__ import annotations

from pathlib import Path

import msgspec

from claude_iterate.core.events import HeldBack
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.layers import layer_from_document
from claude_iterate.operations.run_options import Options
from claude_iterate.operations.run_processes.run_order import RunOrder, order
from claude_iterate.workspace.project import Project

OURS = {"as_json", "color", "silent", "purpose", "report", "checks_only", "prompt_values", "cassette"}
"""What the program itself does, or what no order is made for."""


def test_every_option_reaches_the_run(tmp_path: Path) -> None:
    """A new option that is left out here would be ignored for several runs at once, in silence."""
    asked = Options(
        flags=layer_from_document("flag", "command line", {"delay": 7}),
        allow=("Edit",),
        skip_permissions=True,
        dry_run=True,
        detailed=True,
        again=True,
        mode="build",
        accept_changes=True,
        reset=True,
        command_line=CommandLine(("x", "-C", "y"), (("--delay", "7"),), "build"),
        held=HeldBack("other", 5.0),
    )
    unset = {name for name, value in vars(Options()).items() if vars(asked)[name] == value}
    assert unset <= OURS
    sent = msgspec.json.encode(order(Project(tmp_path, {}), "w", asked))
    got = msgspec.json.decode(sent, type=RunOrder).asked()
    for name in set(vars(asked)) - OURS - {"flags"}:
        assert getattr(got, name) == getattr(asked, name), name
    assert got.flags is not None
    assert got.flags.values == {"delay": 7.0}
