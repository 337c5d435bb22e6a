"""A Python program starts, follows, steers and reads runs, without click; its runs end with it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claude_iterate import api
from tests.e2e.conftest import DONE, HANGING, PATIENCE, PATIENT, ROOT, Loop, until

PAGE = ROOT / "docs" / "reference" / "python-api.md"


def program(loop: Loop, code: str, **more: Any) -> subprocess.Popen[bytes]:
    """A Python program in the project."""
    return loop.start("-c", code, program=(sys.executable,), **more)


def test_the_example_on_the_page_works(loop: Loop) -> None:
    """It prints what the page says, and click is not imported."""
    example, shown = re.findall(r"```(?:python|text)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    done = loop.finish(program(loop, f"{example}\nimport sys; assert 'click' not in sys.modules"))
    assert (done.err, done.out) == ("", shown)


def test_the_page_names_everything() -> None:
    """Every public name, member and flag is on the page."""
    page = PAGE.read_text()
    members = [
        name for kind in (api.Project, api.Workspace, api.Run, api.Reply) for name in vars(kind) if name[0] != "_"
    ]
    flags = list(api.Workspace.start.__kwdefaults__ or {})
    fields = list(api.Reply.__match_args__)
    assert [name for name in (*api.__all__, *members, *flags, *fields) if not re.search(rf"`?\b{name}\b", page)] == []


def test_a_run_is_steered_and_noted(loop: Loop) -> None:
    """`ask` gets the run's own answer, a note reaches the next prompt, and the run tells how it ended."""
    loop.make()
    loop.script(PATIENT, DONE)
    task = api.Project(loop.root, loop.env).workspace("my-task")
    with task.start({"delay": 0}) or task.run() as run:
        until((loop.workspace / "ready").exists)
        assert (task.run().id, run.is_running, task.view().state) == (run.id, True, "running")
        assert run.ask("pause").text == "my-task pauses after iteration 1."
        task.note("Use tabs.")
        loop.go()
        until(lambda: loop.events("IterationFinished"))
        resumed = task.ask("resume")
        assert (resumed.answered, resumed.effective, resumed.text) == (True, True, "Continuing.")
        assert (run.wait(PATIENCE), run.view().reason, run.warnings) == (10, "completed", ())
    assert "Use tabs." in loop.prompt(2)
    assert [type(entry.event).__name__ for entry in run.events()][-1] == "RunFinished"
    assert [row.outcome for told in task.history().runs for row in told.iterations] == ["ok", "ok"]
    assert task.run(run.id).wait(1) == 10
    assert task.start() is None


def test_what_is_impossible_is_said_and_changes_nothing(loop: Loop) -> None:
    """A bad setting, a busy workspace, an unknown verb, an unknown run: an ExpectedError with its next step."""
    loop.make("")
    task = api.Project(loop.root, loop.env).workspace("my-task")
    tries: list[Callable[[], object]] = [
        lambda: task.start({"max_iterations": -1}),
        lambda: task.start({"max_iteration": 1}),
        task.start,
        lambda: task.ask("stop"),
        lambda: task.ask("sing"),
        lambda: task.run("000001"),
        lambda: api.Project(loop.root, loop.env).workspace("other"),
        lambda: api.Project(loop.root, loop.env).create("new", "- a\n", mode="odd"),
    ]
    for attempt in tries:
        with pytest.raises(api.ExpectedError) as refused:
            attempt()
        assert refused.value.hint
    assert task.folder.parent.is_dir()
    assert sorted(path.name for path in task.folder.iterdir()) == [".metadata.json", "INSTRUCTIONS.md"]
    assert api.Project(loop.root, loop.env).workspaces() == ["my-task"]


def test_a_program_goes_on_after_the_breaker(loop: Loop) -> None:
    """A task that the breaker ended is refused, and goes on with `reset`."""
    loop.make()
    loop.script([{"init": {}}, {"result": {}}], DONE)
    task = api.Project(loop.root, loop.env).workspace("my-task")
    run = task.start({"stop.no_progress": 1})
    assert run is not None
    run.wait(PATIENCE)
    assert run.view().reason == "no_progress"
    with pytest.raises(api.ExpectedError, match="was stopped after 1 iteration without progress"):
        task.start()
    again = task.start(reset=True)
    assert again is not None
    assert again.wait(PATIENCE) == 10


STARTS = """
import sys
from claude_iterate import api
run = api.Project(".").workspace("my-task").start(outlives={outlives})
print(run.id, flush=True)
sys.stdin.read()
"""


def test_a_run_ends_with_its_program(loop: Loop) -> None:
    """After `kill -9` of the program no process is left, and the journal says how the run ended."""
    loop.make()
    loop.script(HANGING)
    started = program(loop, STARTS.format(outlives=False), stdin=subprocess.PIPE)
    until((loop.workspace / "ready").exists)
    os.kill(started.pid, signal.SIGKILL)
    loop.finish(started)
    loop.gone()
    assert [event["reason"] for event in loop.events("RunFinished")] == ["terminated"]


def test_a_run_can_outlive_its_program(loop: Loop) -> None:
    """With `outlives` it goes on to its end, and another program finds it."""
    loop.make()
    loop.script(PATIENT, DONE)
    started = program(loop, STARTS.format(outlives=True), stdin=subprocess.DEVNULL)
    identity = loop.finish(started).out.strip()
    until((loop.workspace / "ready").exists)
    run = api.Project(loop.root, loop.env).workspace("my-task").run()
    assert (run.id, run.is_running) == (identity, True)
    loop.go()
    assert run.wait(PATIENCE) == 10
    assert json.loads(Path(loop.layout.metadata).read_text())["status"] == "completed"
