"""What a run is to do, settled before it begins. Immutable; the engine reads it and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from claude_iterate import __version__
from claude_iterate.agent.command.command_line import NOT_ASKED, Known, environment_outside
from claude_iterate.agent.command.sandbox import Sandbox
from claude_iterate.core.events import Event, Requested, RunStarted
from claude_iterate.core.events.enums import Point, Purpose, Verb
from claude_iterate.core.redact import changed_settings
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.next_steps import EXAMPLE_CHECK
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.prompt_texts import TextSource
from claude_iterate.engine.run_request import PreparedRun
from claude_iterate.project.agent_repository import AgentRepository
from claude_iterate.project.worktrees import Worktree
from claude_iterate.system import processes
from claude_iterate.workspace import task_file
from claude_iterate.workspace.inheritance import Inheritance


class UserInput(msgspec.Struct, frozen=True):
    """What the user can say to a run at the terminal that it was started on. `ask` gives what was answered so far to
    the question whether an iteration may begin, `listen` which keys were pressed; neither waits."""

    ask: Callable[[int], list[Requested]] = lambda _number: [Requested(Verb.GO, "answer")]
    listen: Callable[[RunState], list[Requested]] = lambda _state: []
    keys: bool = False
    """Keys are read, so the user may be told of them."""
    detaches: bool = False
    """The run can give up its terminal while it works."""


class RunSpec(PreparedRun, frozen=True, kw_only=True):
    """One run, with all that it needs."""

    run: str
    texts: TextSource
    max_iterations: int
    environ: Mapping[str, str]
    report: Path
    log: Path
    agent_version: str = ""
    known: Known = NOT_ASKED
    """What the Claude of this run knows."""
    cassette: str = ""
    """The recorded run that a dry run plays."""
    before: Inheritance = Inheritance()
    user: UserInput = UserInput()
    tick: float = 1.0
    sandbox: Sandbox | None = None
    opening: tuple[Event, ...] = ()
    """What is recorded after the beginning of the run."""
    repositories: tuple[AgentRepository, ...] = ()
    """Those that a Claude in a sandbox works with."""
    tree: Worktree | None = None
    """The worktree that it works in."""
    test_command: str = ""
    """What tests the project, where that is known: it would make a check."""

    @property
    def in_own_sandbox(self) -> bool:
        """True when our own processes make the sandbox, so that signals have to find their way into it."""
        return self.sandbox is not None and not self.sandbox.is_container

    @property
    def own_environ(self) -> Mapping[str, str]:
        """For programs that we start for ourselves, such as git: none is taken from where a Claude in a sandbox can
        write."""
        if self.sandbox is None:
            return self.environ
        return environment_outside(
            self.environ, (str(self.layout.project), *self.sandbox.writable, *self.sandbox.of_claude)
        )

    def __repr__(self) -> str:
        """Without the environment and the settings, which hold secrets."""
        return f"RunSpec({self.run!r})"

    def facts(self, now: float, wall: float) -> Facts:
        """What the rules know of this run beyond its state."""
        request, defined = self.request, self.before.defined
        known = now, wall, self.settings, self.max_iterations, request.purpose
        return Facts(
            *known,
            command_line=self.command_line,
            refuses=self.before.carried.refuses or (defined is not None and defined.refuses),
            zone=None,
            mode=self.mode,
            checks_only=request.checks_only,
        )

    def beginning(self, hooks: tuple[Point, ...] = (), measures: bool = False) -> RunStarted:
        """The first event of the run, in this process. `measures`: what its iterations do is measured."""
        return RunStarted(
            run=self.run,
            workspace=self.name,
            mode=self.mode.name,
            max_iterations=self.max_iterations,
            pid=os.getpid(),
            host=os.uname().nodename,
            version=__version__,
            command=self.settings.claude.command,
            log=str(self.log),
            agent_version=self.agent_version,
            dry_run=self.request.dry_run,
            purpose=self.request.purpose,
            carried=self.before.carried,
            resumed=self.before.resumed,
            birth=processes.start_identity(os.getpid()),
            sandbox=self.sandbox.asked.kind if self.sandbox is not None else "",
            hooks=hooks,
            settings=changed_settings(self.settings),
            measures=measures,
            again=self.command_line.repeat(),
            cassette=self.cassette,
            to_prove=self._to_prove(),
            proof_is_example=not self.test_command,
            task=task_file.current_identity(self.layout.instructions),
        )

    def _to_prove(self) -> str:
        """The command that adds a check, where the end of the run would be Claude's word."""
        proves = self.facts(0.0, 0.0).proof_wanted or self.request.dry_run or self.mode.makes_plan
        if proves or self.request.purpose != Purpose.RUN:
            return ""
        return self.command_line.add_check(self.test_command or EXAMPLE_CHECK)
