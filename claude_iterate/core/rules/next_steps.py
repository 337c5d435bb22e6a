"""The next step after the end of a run: one command that can be pasted into a shell."""

from __future__ import annotations

import shlex

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.state.run_state import RunState

Words = tuple[str, ...]
ACCEPT = "--accept-changes"
"""The option of `run` and `verify` that accepts what defines the proof as it is now."""
EXAMPLE_CHECK = "npm test"
"""Where no test command is known. Pasted into another project it would fail for ever: it is named as an example."""
KILLED = "The run was killed: its record has no end"
"""The cause of a run that could not record one."""

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
    workspace: str = ""

    def of(self, purpose: str, workspace: str) -> CommandLine:
        """The command line of a run with this purpose, in this workspace."""
        return replace(self, verb=self.verb or purpose, workspace=self.workspace or workspace or "NAME")

    def command(self, verb: str, *words: str) -> str:
        """A command of ours for a shell."""
        return shlex.join((*self.program, verb, *words))

    def about(self, verb: str, *words: str) -> str:
        """A command about the workspace, and where a worktree was named, about the work there."""
        where = [word for option in self.options if option[0] == _PLACE and verb in _PLACED for word in option]
        return self.command(verb, self.workspace, *where, *words)

    def repeat(self, *changed: Words) -> str:
        """The same command with the same options. Those in `changed` replace options of the same name; only `--allow`
        can be given more than once."""
        named = {option[0] for option in changed} - {"--allow"}
        options = [*(option for option in self.options if option[0] not in named), *changed]
        return self.command(self.verb, self.workspace, *(word for option in options for word in option))

    def repeat_for_real(self) -> str:
        """The same command, but no dry run."""
        return replace(self, options=tuple(it for it in self.options if it[0] not in _OF_DRY_RUNS)).repeat()

    def configure(self, *words: str) -> str:
        """A command that changes a setting of the workspace."""
        return self.command("config", *words, "--workspace", self.workspace)

    def add_check(self, check: str = EXAMPLE_CHECK) -> str:
        """The command that lets `check` decide whether the task is done."""
        return self.command("config", "-w", self.workspace, "verification.checks", "--add", check)


def continue_command(state: RunState) -> str:
    """The command that continues a run that was killed."""
    return state.run.again or CommandLine().of(state.run.purpose, state.run.workspace).repeat()


def merge_command(main: str, branch: str, uncommitted_in: str = "") -> str:
    """The command that merges the branch of a worktree into the checkout `main`, after a commit of what is not
    committed in the worktree."""
    merging = shlex.join(["git", "-C", main, "merge", branch])
    git = shlex.join(["git", "-C", uncommitted_in])
    commit = f"{git} add -A && {git} commit -m {shlex.quote(branch)} && "
    return f"{commit}{merging}" if uncommitted_in else merging


def rename_workspace(step: str, before: str, now: str) -> str:
    """The step for a workspace that has been copied or restored under another name since."""
    if not step or before == now:
        return step
    try:
        return shlex.join([now if word == before else word for word in shlex.split(step)])
    except ValueError:  # a file that was changed by hand
        return step
