"""The project of `demo`: a task, a check, and a stand-in for Claude that first fails the check and then repairs it.

All of it is in one temporary folder. The run in it is a real one: only the program that it calls is not Claude.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claude_iterate.core.settings.declared import catalogue
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project

PACE = "0.3"
"""Seconds between two events of the stand-in: about ten for the whole run."""
_PACE_VARIABLE = "CLAUDE_ITERATE_FAKE_PACE"
_INSTRUCTIONS = b"""# Task

Write three short poems, each in a file of its own: `spring.txt`, `summer.txt`, `autumn.txt`.

## Done means

- [ ] spring.txt has four lines
- [ ] summer.txt has four lines
- [ ] autumn.txt has four lines
"""
_CHECK = """\
for poem in spring summer autumn; do
    lines=$(wc -l < $poem.txt)
    [ $lines -eq 4 ] || { echo "$poem.txt has $lines lines, not 4"; exit 1; }
done
"""
_POEMS = {
    "spring": "The ice lets go,\nthe river talks,\na crocus dares\nthe open air.\n",
    "summer": "The days are long,\nthe shade is short,\na bee repairs\nthe afternoon.\n",
    "autumn": "The leaves come down,\nthe light comes in,\na crow declares\nthe season done.\n",
}


def make_demo(environ: Mapping[str, str], folder: Path) -> tuple[Project, Layout]:
    """The project and its workspace, ready to run."""
    project = Project(folder, _clean_environment(environ, folder))
    pace = environ.get(_PACE_VARIABLE, PACE)  # tests do not wait
    stand_in = folder / ".stand-in"
    stand_in.mkdir()
    (stand_in / ".gitignore").write_text("*\n", encoding="utf-8")  # what it writes there is no work
    (stand_in / "script.json").write_text(json.dumps({"calls": _calls(folder), "after": "work"}), encoding="utf-8")
    (folder / "check.sh").write_text(_CHECK, encoding="utf-8")
    settings = {
        "delay": float(pace) if pace == PACE else 0.0,
        "claude.command": (sys.executable, "-P", "-m", "claude_iterate.fake_claude"),
        "claude.permission_mode": "acceptEdits",
        "claude.env": {
            "CLAUDE_ITERATE_FAKE_SCRIPT": str(stand_in / "script.json"),
            "CLAUDE_ITERATE_FAKE_STATE": str(stand_in / "state"),
            "CLAUDE_ITERATE_MOCK_LOG": str(stand_in / "calls.log"),
            _PACE_VARIABLE: pace,
        },
        "verification.checks": ("sh check.sh",),
    }
    return project, project.create("demo", settings=settings, instructions=_INSTRUCTIONS)


def _calls(folder: Path) -> list[list[dict[str, Any]]]:
    """What the stand-in does, call by call: a poem each, the last one a line short; then it adds the line."""
    short = "".join(_POEMS["autumn"].splitlines(keepends=True)[:3])
    return [
        _call(folder, "spring", _POEMS["spring"], 1),
        _call(folder, "summer", _POEMS["summer"], 2),
        _call(folder, "autumn", short, 3),
        _call(folder, "autumn", _POEMS["autumn"], 3, "Added the line that autumn.txt lacked"),
    ]


def _call(folder: Path, poem: str, text: str, completed: int, summary: str = "") -> list[dict[str, Any]]:
    path = str(folder / f"{poem}.txt")
    summary = summary or f"Wrote {poem}.txt"
    status = {"complete": completed == 3, "progress": {"completed": completed, "total": 3}, "summary": summary}
    wrote = {"name": "Write", "input": {"file_path": path, "content": text}, "result": f"Wrote {path}"}
    looked = {"name": "Bash", "input": {"command": f"cat {poem}.txt"}, "result": text}
    return [
        {"init": {}},
        {"tool": wrote},
        {"write": {"path": path, "text": text}},
        {"tool": looked},
        {"status": status},
        {"say": f"{summary}."},
        {"result": {"total_cost_usd": 0.0, "usage": {}, "modelUsage": {}}},  # made-up figures would be believed
    ]


def _clean_environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """An environment in which no setting of the user's leads out of the demo's folder."""
    ours = {setting.variable for setting in catalogue().values()}
    kept = {name: value for name, value in environ.items() if name not in ours}
    return kept | {"CLAUDE_ITERATE_CONFIG_DIR": str(folder / ".stand-in" / "no-user-settings")}
