"""The next step after the end of a run: one command that can be pasted into a shell."""

from __future__ import annotations

import shlex

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.state.run_state import RunState

Words = tuple[str, ...]
ACCEPT = "--accept-changes"
"""The option of `run` and `verify` that takes what defines the proof as it is now."""
_PLACE, _PLACED = "--worktree", frozenset({Purpose.RUN, Purpose.VERIFY})
"""The option that says where the work is, and the commands that have it."""

_OF_DRY_RUNS = frozenset({"--dry-run", "--cassette"})


class CommandLine(msgspec.Struct, frozen=True):
    """How a run was started: the program with what stands before the command, such as `-C DIR`, and the options of the
    command, each with its value. What concerns the output alone is left out. `verb` is the command where it is not the
    run's purpose: `plan`, `build`."""

    program: Words = ("claude-iterate",)
    options: tuple[Words, ...] = ()
    verb: str = ""


def command(line: CommandLine, verb: str, *words: str) -> str:
    """A command of ours for a shell."""
    return shlex.join((*line.program, verb, *words))


def about(state: RunState, line: CommandLine, verb: str, *words: str) -> str:
    """A command about the workspace of the run, and where that has a worktree, about the work there."""
    return in_place(line, verb, name(state), *words)


def in_place(line: CommandLine, verb: str, workspace: str, *words: str) -> str:
    """A command about a workspace, and where a worktree was named, about the work there."""
    where = [word for option in line.options if option[0] == _PLACE and verb in _PLACED for word in option]
    return command(line, verb, workspace, *where, *words)


def again(state: RunState, line: CommandLine, *changed: Words) -> str:
    """The same command with the same options. Those in `changed` take the place of options of the same name; only
    `--allow` can be given more than once."""
    named = {option[0] for option in changed} - {"--allow"}
    options = [*(option for option in line.options if option[0] not in named), *changed]
    return command(line, line.verb or _verb(state), name(state), *(word for option in options for word in option))


def merge(main: str, branch: str, uncommitted_in: str = "") -> str:
    """The command that brings the branch of a worktree into the checkout `main`; what is in the worktree is committed
    first, if it is not."""
    merging = shlex.join(["git", "-C", main, "merge", branch])
    git = shlex.join(["git", "-C", uncommitted_in])
    commit = f"{git} add -A && {git} commit -m {shlex.quote(branch)} && "
    return f"{commit}{merging}" if uncommitted_in else merging


def add_check(line: CommandLine, workspace: str, check: str = "") -> str:
    """The command that lets `check` decide whether the task is done."""
    return command(line, "config", "-w", workspace, "verification.checks", "--add", check or "COMMAND")


def really(state: RunState, line: CommandLine) -> str:
    """The same command, not as a dry run."""
    typed = tuple(option for option in line.options if option[0] not in _OF_DRY_RUNS)
    return again(state, replace(line, options=typed))


KILLED = "The run was killed: its record has no end"
"""The cause where a run could not tell one."""


def go_on(state: RunState) -> str:
    """What goes on with a run that was killed: the same command once more."""
    return (state.started.again if state.started is not None else "") or command(
        CommandLine(), _verb(state), name(state)
    )


def repeated(line: CommandLine, purpose: str, workspace: str) -> str:
    """The command of this run once more, with all its options."""
    return command(line, line.verb or purpose, workspace, *(word for option in line.options for word in option))


def renamed(step: str, before: str, now: str) -> str:
    """The step for a workspace that was copied or restored under another name since."""
    if not step or before == now:
        return step
    try:
        return shlex.join([now if word == before else word for word in shlex.split(step)])
    except ValueError:  # a file that was changed by hand
        return step


def name(state: RunState) -> str:
    """The workspace of the run."""
    return state.started.workspace if state.started is not None else "NAME"


def _verb(state: RunState) -> str:
    return state.started.purpose if state.started is not None else Purpose.RUN
