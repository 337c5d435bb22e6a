"""What Claude commits inside a sandbox comes into the user's repository: after each call, when nothing lives inside."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from typing import IO

from claude_iterate.agent.command import discovery
from claude_iterate.agent.command.command_line import run_environment
from claude_iterate.core.events import Warned
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.errors import ExpectedError
from claude_iterate.project.agent_repository import AgentRepository, Taken
from claude_iterate.project.git import PATIENCE, GitProblem


def make_repositories(supervisor: Supervisor) -> None:
    """Before the first call. What a killed run left is taken in first."""
    left = [repository for repository in supervisor.spec.repositories if repository.is_left]
    _take_in(supervisor, left)
    sandbox = supervisor.spec.sandbox
    for repository in supervisor.spec.repositories:
        repository.make(sandbox.hides if sandbox is not None else lambda _path: False)


def take_in_commits(supervisor: Supervisor) -> None:
    """After a call. Those of submodules first: a commit of the project may name them."""
    _take_in(supervisor, list(supervisor.spec.repositories))


def remove_repositories(spec: RunSpec) -> None:
    """At the end, when everything is taken in."""
    for repository in spec.repositories:
        repository.remove()


def _take_in(supervisor: Supervisor, repositories: list[AgentRepository]) -> None:
    for repository in reversed(repositories):
        inside = partial(_run_inside, supervisor.spec)
        try:
            taken = supervisor.meanwhile(lambda: repository.take_in(inside))  # noqa: B023 - it is over before the next
        except (GitProblem, OSError) as problem:
            text = f"What Claude committed in {repository.top} could not be taken over: {problem}."
            supervisor.recorder.record(Warned(text, "Its files are as Claude left them: git status"))
        else:
            _warn(supervisor, repository, taken)


def _warn(supervisor: Supervisor, repository: AgentRepository, taken: Taken) -> None:
    for branch, ref in taken.aside.items():
        text = f"Claude's commits on {branch} are not on your branch, because {taken.reason}."
        supervisor.recorder.record(Warned(text, f"Look at them: git -C {repository.top} log {ref}"))


def _run_inside(spec: RunSpec, folder: str, argv: list[str], given: bytes, out: IO[bytes]) -> None:
    environment = run_environment(spec.environ, spec.settings.claude, spec.run, spec.layout.folder)
    try:
        command = discovery.prepare(argv, environment, Path(folder), spec.sandbox, for_claude=False)
        done = subprocess.run(
            command.argv,
            input=given,
            stdout=out,
            stderr=subprocess.PIPE,
            env=command.environment,
            cwd=folder,
            timeout=PATIENCE,
            start_new_session=True,
            check=False,
        )
    except ExpectedError as problem:
        raise GitProblem(problem.message) from None
    except OSError as error:
        raise GitProblem(f"the sandbox cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise GitProblem("git inside the sandbox took too long") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitProblem(said[-1][:200] if said else f"git inside the sandbox ended with {done.returncode}")
