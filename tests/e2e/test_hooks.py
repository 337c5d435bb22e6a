"""Hooks in real runs: their order, their exit codes, their ends; nothing of them is left, whatever happens."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.selftest.harness.script_steps import GO, READY, finish, proceed
from tests.e2e.conftest import ROOT, Loop

POINTS = ("started", "next_iteration", "iteration_finished", "finished")
TRACE = "echo $CLAUDE_ITERATE_HOOK_POINT $CLAUDE_ITERATE_HOOK_ITERATION $CLAUDE_ITERATE_HOOK_REASON >> trace"
HOW_TO = ROOT / "docs" / "how-to" / "hooks.md"


def hook(loop: Loop, point: str, script: str, own: bool = False) -> Path:
    """Write a hook of the project, or the workspace's own."""
    folder = loop.workspace / "hooks" if own else loop.root / "claude-iterate" / "hooks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / point
    path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def trace(loop: Loop) -> list[str]:
    path = loop.root / "trace"
    return path.read_text().splitlines() if path.exists() else []


def traced(loop: Loop, *points: str) -> None:
    for point in points or POINTS:
        hook(loop, point, TRACE)


def reason(loop: Loop) -> Any:
    return loop.events("RunFinished")[-1]["reason"]


@pytest.mark.setting("hooks.enabled")
def test_hooks_are_called_at_their_points(loop: Loop) -> None:
    """Once each for its number, the project's before the workspace's, with JSON on standard input, in the project's
    folder; what they print is in the log. With `hooks.enabled = false` none is called."""
    loop.make()
    traced(loop)
    hook(loop, "iteration_finished", "echo own >> trace; cat > given.json; echo said by a hook", own=True)
    loop.script(proceed(), proceed(), finish())
    loop.env["CLAUDE_ITERATE_HOOKS__ENABLED"] = "false"
    assert loop.run("-m", "1").code == 0
    assert trace(loop) == []
    del loop.env["CLAUDE_ITERATE_HOOKS__ENABLED"]
    assert loop.run("--no-delay").code == 0
    assert [line.rstrip() for line in trace(loop)] == [
        "started 0",
        "next_iteration 1",
        "iteration_finished 1",
        "own",
        "next_iteration 2",
        "iteration_finished 2",
        "own",
        "finished 2 completed",
    ]
    given = json.loads((loop.root / "given.json").read_text())
    assert (given["point"], given["iteration"], given["complete"]) == ("iteration_finished", 2, True)
    assert given["lastIteration"]["outcome"]["kind"] == "ok"
    assert "said by a hook" in loop.log()


def test_a_dry_run_calls_none_and_says_so(loop: Loop) -> None:
    """In one line, with the command that tries one."""
    loop.make()
    traced(loop)
    answer = loop.run("--dry-run")
    assert trace(loop) == []
    assert "A dry run calls no hooks" in answer.err
    assert "claude-iterate hook test started -w my-task" in answer.err


@pytest.mark.parametrize("point", ["started", "iteration_finished"])
def test_exit_code_2_ends_the_run_and_finished_still_runs(loop: Loop, point: str) -> None:
    """Also where Claude claims that all is done. The hook `finished` gets to know the reason."""
    loop.make()
    traced(loop)
    hook(loop, point, "echo no more; exit 2")
    loop.script(finish())
    ended = loop.run("--detailed-exit-code")
    assert (ended.code, reason(loop)) == (9, "hook_abort")
    assert "no more" in ended.err
    assert trace(loop)[-1].endswith("hook_abort")
    assert len(loop.events("IterationStarted")) == (point == "iteration_finished")


@pytest.mark.setting("hooks.fail_on_error")
@pytest.mark.parametrize("ends", [False, True])
def test_any_other_exit_code_warns_or_ends_the_run(loop: Loop, ends: bool) -> None:
    """`hooks.fail_on_error` decides. What `finished` answers changes nothing."""
    loop.make()
    hook(loop, "iteration_finished", "exit 7")
    hook(loop, "finished", "exit 2")
    loop.env["CLAUDE_ITERATE_HOOKS__FAIL_ON_ERROR"] = json.dumps(ends)
    loop.script(finish())
    ended = loop.run()
    assert (ended.code, reason(loop)) == ((1, "hook_abort") if ends else (0, "completed"))
    assert "exit code 7" in ended.err
    named = "claude-iterate/hooks/iteration_finished, claude-iterate/hooks/finished"
    assert (f"  ⚠ Failed hooks: {named}\n" in ended.out) == (not ends)  # in the closing lines
    assert ended.err.count("hooks.fail_on_error true") == (not ends)  # no setting changes what `finished` means


def test_a_skip_uses_the_number(loop: Loop) -> None:
    """Claude is called for the others only, and the record calls it skipped."""
    loop.make()
    hook(loop, "next_iteration", '[ "$CLAUDE_ITERATE_HOOK_ITERATION" = 1 ] && exit 1; exit 0')
    loop.script(finish())
    assert loop.run("--no-delay").code == 0
    finished = loop.events("IterationFinished")
    assert [(event["number"], event["outcome"]["kind"]) for event in finished] == [(1, "skipped"), (2, "ok")]
    assert len(loop.events("AgentStarted")) == 1


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("sleep 600 & echo $! > left; sleep 600", "did not end in time"),
        ("trap '' TERM INT; echo $$ > left; while :; do sleep 1; done", "did not end in time"),
        ("setsid sleep 600 > /dev/null 2>&1 & echo $! > left", ""),
    ],
)
def test_a_hook_that_takes_too_long_is_dead_with_its_children(loop: Loop, script: str, word: str) -> None:
    """Also one that ignores signals, and what it left in the background; the run goes on."""
    loop.make()
    hook(loop, "next_iteration", script)
    loop.env |= {"CLAUDE_ITERATE_HOOKS__TIMEOUT": "3s", "CLAUDE_ITERATE_TIMEOUTS__TERMINATE_GRACE": "0.5s"}
    loop.script(finish())
    ended = loop.run()
    assert ended.code == 0
    assert word in ended.err
    assert not Path(f"/proc/{(loop.root / 'left').read_text().strip()}").exists()
    assert loop.processes() == []


def test_a_hook_is_ended_by_sigterm(loop: Loop) -> None:
    """At once, with its group: a shell that is interrupted would only wait for its child."""
    loop.make()
    hook(
        loop, "started", "trap 'echo int >> trace' INT; trap 'echo term >> trace; exit 0' TERM; sleep 600 & wait; wait"
    )
    loop.env["CLAUDE_ITERATE_HOOKS__TIMEOUT"] = "3s"
    loop.script(finish())
    assert loop.run().code == 0
    assert trace(loop) == ["term"]


def test_a_hook_that_prints_without_end_is_bounded(loop: Loop) -> None:
    """Of 100 MB only the end is kept, in journal and log."""
    loop.make()
    hook(loop, "iteration_finished", "head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo the end")
    loop.env["CLAUDE_ITERATE_HOOKS__TIMEOUT"] = "10m"
    loop.script(finish())
    assert loop.run().code == 0
    (finished,) = loop.events("HookFinished")
    assert finished["output"].endswith("the end")
    assert len(finished["output"]) <= 4000
    assert len(loop.log()) < 100_000


def test_finished_runs_after_ctrl_c_and_a_second_one_ends_it(loop: Loop) -> None:
    """The reason stays, and nothing is left."""
    loop.make()
    hook(loop, "finished", "echo $CLAUDE_ITERATE_HOOK_REASON > ended; echo > hangs; sleep 600; echo > never")
    loop.env["CLAUDE_ITERATE_HOOKS__TIMEOUT"] = "1h"
    loop.script(proceed(READY, GO))
    process = loop.working()
    process.send_signal(signal.SIGTERM)
    loop.until((loop.root / "hangs").exists, "the hook")
    process.send_signal(signal.SIGINT)
    ended = loop.finish(process)
    assert (ended.code, reason(loop)) == (143, "terminated")
    assert (loop.root / "ended").read_text().strip() == "terminated"
    assert not (loop.root / "never").exists()
    loop.gone()


def test_a_kill_neither_skips_nor_repeats_in_silence(loop: Loop) -> None:
    """`kill -9` while `iteration_finished` runs: the next run calls it again for the same iteration, and says so."""
    loop.make()
    again = "echo $CLAUDE_ITERATE_HOOK_ITERATION:$CLAUDE_ITERATE_HOOK_AGAIN >> trace; [ -e go ] || sleep 600"
    hook(loop, "iteration_finished", again)
    loop.env["CLAUDE_ITERATE_HOOKS__TIMEOUT"] = "1h"
    loop.script(proceed(), finish())
    process = loop.start_run("--no-delay")
    loop.until(lambda: trace(loop), "the hook")
    process.kill()
    loop.finish(process)
    loop.gone()
    (loop.root / "go").touch()
    ended = loop.run("--no-delay")
    assert ended.code == 0
    assert "was running when the run was killed" in ended.err
    assert trace(loop) == ["1:", "1:1", "2:"]
    assert len(loop.events("AgentStarted")) == 2


def test_a_hook_that_claude_writes_is_not_run(loop: Loop) -> None:
    """Nor one that it changes: it would do what Claude itself may not. The run warns and goes on."""
    loop.make()
    hook(loop, "iteration_finished", "echo mine >> trace")
    folder = shlex.quote(str(loop.root / "claude-iterate" / "hooks"))
    evil = "for name in iteration_finished finished; do echo 'echo evil >> trace' > $name; chmod +x $name; done"
    loop.script(finish({"shell": f"cd {folder}; {evil}"}))
    ended = loop.run()
    assert ended.code == 0
    assert "it was changed during the run" in ended.err
    assert trace(loop) == []
    assert [event["path"] for event in loop.events("HookFinished")] == ["claude-iterate/hooks/iteration_finished"]


@pytest.mark.parametrize("kind", ["folder", "link out"])
def test_what_only_looks_like_a_hook_is_told_once(loop: Loop, kind: str) -> None:
    """It is not run, and the run goes on."""
    loop.make()
    path = hook(loop, "next_iteration", "echo run >> trace")
    path.unlink()
    if kind == "folder":
        path.mkdir()
    else:
        elsewhere = loop.folder / "elsewhere"
        elsewhere.write_text("#!/bin/sh\necho run >> trace\n")
        elsewhere.chmod(0o755)
        path.symlink_to(elsewhere)
    loop.script(proceed(), finish())
    ended = loop.run("--no-delay")
    assert ended.code == 0
    assert ended.err.count("next_iteration is not run") == 1
    assert trace(loop) == []


def test_a_hook_may_call_us(loop: Loop) -> None:
    """A note to the next iteration arrives, `stop` is obeyed, and no setting of the run is inherited by accident."""
    loop.make()
    us = f"{shlex.quote(sys.executable)} -P -m claude_iterate"
    hook(loop, "iteration_finished", f"{us} config max_iterations > most 2> said; {us} stop my-task >> said 2>&1")
    loop.script(proceed())
    loop.env["CLAUDE_ITERATE_HOOKS__TIMEOUT"] = "10m"
    ended = loop.run("-m", "5", "--no-delay")
    assert (ended.code, reason(loop)) == (0, "stopped")
    assert (loop.root / "most").read_text().strip() in {"", "unset", "(not set)", "not set", "null"}
    assert "is not a setting" not in (loop.root / "said").read_text()


def example(number: int) -> str:
    """A script of the how-to page, as it stands there."""
    found: list[str] = re.findall(r"```sh\n(#!/bin/sh\n.*?)```", HOW_TO.read_text(), re.DOTALL)
    return found[number]


@pytest.mark.needs_git
def test_the_example_that_commits(loop: Loop) -> None:
    """One commit for each iteration that changed something, and none for one that did not."""
    loop.make()
    loop.git("init", "-q")
    (loop.root / ".gitignore").write_text("/claude-iterate/workspaces/\n")
    hook(loop, "iteration_finished", example(0))
    numbers = "$CLAUDE_ITERATE_HOOK_COMMITS $CLAUDE_ITERATE_HOOK_TOTAL_COMMITS $CLAUDE_ITERATE_HOOK_LAST_EXIT_CODE"
    head = '[ "$CLAUDE_ITERATE_HOOK_LAST_COMMIT_SHA" = "$(git rev-parse HEAD)" ] && echo at HEAD'
    hook(loop, "finished", f'echo "{numbers}"; {head}', own=True)
    by_claude = "git add two && git commit -qm 'by Claude'"
    loop.script(
        proceed({"shell": "echo 1 > one"}), proceed(), finish({"shell": f"echo 2 > two; {by_claude}; echo 3 > three"})
    )
    assert loop.run("--no-delay").code == 0
    assert loop.git("log", "--format=%s", "--reverse").splitlines() == [
        "my-task: iteration 1",
        "by Claude",
        "my-task: iteration 3",
    ]
    told = loop.events("HookFinished")[-1]["output"].split()
    assert told[:3] == ["1", "1", "0"], "what the hook commits is not the work of an iteration"


@pytest.mark.needs_git
def test_the_examples_that_stop_when_ci_is_red_and_notify(loop: Loop) -> None:
    """With stand-ins for `gh` and `notify-send`: green goes on, red ends the run before Claude is called, and each end
    is told on the desktop."""
    loop.make()
    loop.git("init", "-q")
    loop.executable("gh", 'cat "$HOME/ci"')
    loop.executable("notify-send", 'printf "%s|" "$@" >> "$HOME/told"')
    hook(loop, "next_iteration", example(2))
    hook(loop, "finished", example(1))
    (loop.home / "ci").write_text("success\n")
    loop.script(proceed(), finish())
    assert loop.run("-m", "1").code == 0
    (loop.home / "ci").write_text("failure\n")
    ended = loop.run("--detailed-exit-code")
    assert ended.code == 9
    assert "CI is red" in ended.err
    assert len(loop.events("AgentStarted")) == 1
    title, first, again, second, _ = (loop.home / "told").read_text().split("|")
    assert (title, again) == ("claude-iterate: my-task",) * 2
    assert "maximum iterations" in first
    assert "next_iteration" in second
