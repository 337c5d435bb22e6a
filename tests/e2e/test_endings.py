"""Every reason to end, played by the real program: all who tell of it name the same cause and the same next command,
and the command can be pasted."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from typing import Any

import pytest

from claude_iterate.cli.boundary import main
from claude_iterate.core.events.enums import ENDINGS, exit_code
from claude_iterate.core.rules.endings import SIGNS
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import tone
from claude_iterate.selftest.harness.script_steps import INIT, RESULT, finish, proceed
from claude_iterate.selftest.harness.scripted_project import Done
from claude_iterate.sinks.console import Console
from claude_iterate.workspace import journal_reader
from tests.e2e.conftest import Loop
from tests.e2e.ending_scenes import SCENES, Scene
from tests.e2e.test_hooks import hook
from tests.e2e.test_notifications import aim
from tests.recording_receiver import Receiver


def played(loop: Loop, scene: Scene) -> Done:
    """The run, with all that it prints but the document on one stream."""
    loop.make(mode=scene.mode)
    variables = {f"CLAUDE_ITERATE_{key.upper().replace('.', '__')}": value for key, value in scene.settings.items()}
    loop.env |= {name: value if isinstance(value, str) else json.dumps(value) for name, value in variables.items()}
    for point, script in scene.hooks.items():
        hook(loop, point, script)
    loop.script(*scene.calls)
    process = loop.start_run("--json", "--detailed-exit-code", *scene.flags)
    if scene.act is not None:
        loop.until((loop.workspace / "ready").exists, "the file `ready`")
        scene.act(loop, process)
        loop.go()
    return loop.finish(process)


def quietly(loop: Loop) -> tuple[str, str]:
    """What the same run says with --quiet."""
    out, err = io.StringIO(), io.StringIO()
    console, state = Console(out, err, "quiet"), RunState()
    for entry in journal_reader.read(loop.layout.journal(loop.layout.run_ids()[-1])):
        state = reduce(state, entry)
        console(entry, state)
    console.close()
    return out.getvalue(), err.getvalue()


def told(text: str, what: str) -> int:
    """How many lines end with these words."""
    return sum(line.endswith(what) for line in text.splitlines())


@pytest.fixture
def look(loop: Loop, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Type a command that only looks, within this process."""

    def typed(*words: str) -> str:
        capfd.readouterr()
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("CLAUDE")]:
                patch.delenv(name)
            for name, value in loop.env.items():
                patch.setenv(name, value)
            patch.chdir(loop.root)
            assert main(words) == 0
        return capfd.readouterr().out

    return typed


def notified(receiver: Receiver) -> dict[str, Any]:
    """The notification of the end. On a busy machine a request that was given up and sent again may still come in after
    it, and it may come after the run is over."""
    received = receiver.wait(lambda received: any(item.document.get("reason") for item in received))
    return dict(next(item.document for item in reversed(received) if item.document.get("reason")))


def pasted(loop: Loop, step: str) -> Done:
    """The command in a shell that finds our program. What was wrong is put right before; `setup` does so itself."""
    loop.executable("claude-iterate", f'exec {shlex.quote(sys.executable)} -P -m claude_iterate "$@"')
    task = loop.folder / "task"
    task.write_text("- one\n")
    if " setup " not in step:
        loop.layout.instructions.write_bytes(task.read_bytes())
    (loop.root / "fixed").touch()
    shutil.rmtree(loop.state)  # the stand-in begins its script again
    loop.script(finish())
    with task.open("rb") as typed:
        return loop.finish(loop.start("-c", step, program=("/bin/sh",), stdin=typed))


def test_every_reason_is_played() -> None:
    """A new reason to end needs a scene of its own."""
    assert {scene.reason for scene in SCENES.values()} == set(ENDINGS)


@pytest.mark.parametrize("name", SCENES)
def test_all_who_tell_of_an_end_say_the_same(
    loop: Loop, receiver: Receiver, look: Callable[..., str], name: str
) -> None:
    """Console, --quiet, log, show, three documents and the notification: cause and next command, each once; and the
    command, pasted, does what it says."""
    scene = SCENES[name]
    scene = scene._replace(cause=scene.cause.replace("FOLDER", str(loop.workspace)))
    aim(loop, receiver.url)
    ended = played(loop, scene)
    (event,) = loop.events("RunFinished")
    code = exit_code(scene.reason, True, event.get("known_by"))
    assert (event["reason"], ended.code) == (scene.reason, code), ended.err
    assert (event["cause"], event.get("next", "")) == (scene.cause, scene.step)
    sign, steps = SIGNS.get(tone(scene.reason, event.get("known_by")), "❌"), int(bool(scene.step))

    assert told(ended.err, f"{sign} {scene.cause}") == 1
    assert told(ended.err, f"  Next: {scene.step}") == steps
    if scene.reason == "agent_failed":  # and not a second time as the failure of its iteration
        assert ended.err.count(scene.cause.rpartition(": ")[2]) == 1, ended.err
    assert not re.search("next iteration begins|timeouts.iteration", ended.err)
    if scene.reason in {"stopped", "interrupted", "terminated", "duration"}:  # an iteration that was cut did not fail
        assert "failed" not in ended.err

    out, err = quietly(loop)
    spoken = not ENDINGS[scene.reason].good or bool(event.get("about_claim"))  # a failure, or a doubtful claim
    assert (out, told(err, f"{sign} {scene.cause}")) == ("", int(spoken))
    assert told(err, f"  Next: {scene.step}") == (steps if spoken else 0)

    assert told(loop.log(), f"Cause: {scene.cause}") == 1
    assert told(loop.log(), f"Next: {scene.step}") == steps

    shown = look("show", "my-task")
    assert told(shown, f"Ended: {scene.reason}. {scene.cause}") == 1
    assert told(shown, f"  Next: {scene.step}") == steps
    documents = (
        json.loads(ended.out),
        json.loads(look("show", "my-task", "--json"))["lastRun"],
        json.loads(look("list", "--json"))["workspaces"][0],
        notified(receiver),
    )
    assert [(document["reason"], document["cause"], document["next"]) for document in documents] == [
        (scene.reason, scene.cause, scene.step)
    ] * 4
    message = notified(receiver)["message"]
    assert (scene.cause in message, f"\nNext: {scene.step}" in message) == (True, bool(scene.step))
    assert "Complete!" not in message

    if scene.step:
        after = pasted(loop, scene.step)
        expected = {0, 1} if re.search("doctor|verify", scene.step) else {0}
        assert after.code in expected, after.err
        assert not re.search("^(Usage|Error):", after.err, re.MULTILINE)


def test_a_folder_that_is_gone_is_named(loop: Loop, receiver: Receiver) -> None:
    """Where there is nothing left to look at: console, document and notification."""
    aim(loop, receiver.url)
    folder = shlex.quote(str(loop.workspace))
    scene = Scene("agent_failed", "", "", [[INIT, {"shell": f"mv {folder} {folder}.away"}, RESULT]])
    ended = played(loop, scene)
    cause = f"The workspace's folder is gone, or another one stands in its place: {loop.workspace}"
    step = "claude-iterate list"
    assert (told(ended.err, f"❌ {cause}"), told(ended.err, f"  Next: {step}")) == (1, 1)
    for document in (json.loads(ended.out), notified(receiver)):
        assert (document["cause"], document["next"]) == (cause, step)


def test_from_elsewhere_the_next_step_names_the_project(loop: Loop) -> None:
    """Pasted where it was printed it finds the project, whatever the folder is called."""
    loop.make()
    loop.script(proceed())
    there = shutil.copytree(loop.root, loop.folder / "my project's")
    ended = loop.call("-C", str(there), "run", "my-task", "-m", "1")
    (step,) = [line.removeprefix("  Next: ") for line in ended.out.splitlines() if line.startswith("  Next: ")]
    assert shlex.split(step) == ["claude-iterate", "-C", str(there), "run", "my-task", "--max-iterations", "1"]
