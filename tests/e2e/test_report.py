"""The morning report of real runs: what changed in files and lines, from the snapshots."""

from __future__ import annotations

import json
import subprocess

import pytest

from claude_iterate.selftest.harness.script_steps import finish, proceed
from tests.e2e.conftest import Loop

FIRST = "printf 'a\\nb\\n' > one; printf '\\0' > picture; echo x > x.tmp"
SECOND = "printf 'a\\nc\\nd\\n' > one; rm old"


@pytest.mark.needs_git
@pytest.mark.parametrize("in_git", [True, False])
def test_files_and_lines_of_each_iteration_and_of_the_run(loop: Loop, in_git: bool) -> None:
    """By the snapshots in the repository, or in the store of a project without one. Our own files and ignored ones do
    not count. Where a snapshot is gone, the report says that it is not known."""
    loop.make()
    (loop.root / "old").write_text("1\n2\n3\n")
    git = ["git", "-C", str(loop.root)]
    if in_git:
        subprocess.run([*git, "init", "-q"], check=True, timeout=120)
    loop.env["CLAUDE_ITERATE_PROGRESS__IGNORE"] = "*.tmp"
    loop.script(proceed({"shell": FIRST}), finish({"shell": SECOND}))
    assert loop.run("--no-delay").code == 0
    report = json.loads(loop.call("report", "my-task", "--json").out)
    sums = [(stat["changed"], stat["added"], stat["removed"]) for stat in report["diffstats"]]
    assert sums == [(2, 2, 0), (2, 2, 4)]
    files = {file["path"]: (file["added"], file["removed"]) for file in report["diffstat"]["files"]}
    assert files == {"old": (0, 3), "one": (3, 0), "picture": (None, None)}
    page = loop.call("report", "my-task", "-o", "-").out
    assert "3 files, +3 -3 lines" in page
    history = json.loads(loop.call("history", "my-task", "--json").out)
    rows = history["runs"][-1]["iterations"]
    assert report["iterations"] == rows
    assert rows[0]["treeAfter"] == rows[1]["treeBefore"] != ""
    kept = loop.root / (".git" if in_git else "claude-iterate/snapshots.git")
    kept.rename(loop.root / "elsewhere")
    lost = json.loads(loop.call("report", "my-task", "--json").out)
    assert (lost["diffstat"], lost["diffstats"]) == (None, [None, None])
    assert "Not known: there is no snapshot" in loop.call("report", "my-task", "-o", "-").out
