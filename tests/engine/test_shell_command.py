"""A program of the user under supervision: what it gets, what is kept of it, and how it is ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.core.events.enums import Cause
from claude_iterate.core.rules.during import Running
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Cut, Limit
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.shell_command import Program, ProgramEnd, run_program, shell_program
from claude_iterate.system import processes
from tests.engine.building import made, plan_in, supervisor_of

Run = Callable[..., ProgramEnd]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program in a folder of its own."""
    dispatcher, recorder = made(tmp_path)
    plan = plan_in(tmp_path, environ=dict(os.environ), run=f"shell-{tmp_path.name}-{os.getpid()}")
    supervisor = supervisor_of(plan, dispatcher, recorder)

    def start(program: Program, *rules: Running) -> ProgramEnd:
        return run_program(supervisor, program, rules)

    return start


def line(text: str, tail: int = 4000) -> Program:
    return shell_program(text, "test", tail=tail)


def test_a_line_of_shell_gives_its_code_and_both_streams_in_order(run: Run) -> None:
    """What it printed stays in the order in which it was printed."""
    ended = run(line("echo one; echo two >&2; echo three; exit 3"))
    assert (ended.code, ended.output, ended.cut) == (3, "one\ntwo\nthree", None)
    assert ended.how == "failed with exit code 3"


def test_a_program_gets_its_input_its_variables_and_the_mark_of_the_run(run: Run, tmp_path: Path) -> None:
    """Without a shell around it, in the project root."""
    script = tmp_path / "program"
    script.write_text('#!/bin/sh\ncat; echo; echo "$MORE"; echo "${CLAUDE_ITERATE_RUN%%-*}"; pwd\n')
    script.chmod(0o755)
    ended = run(Program((str(script),), "The hook", {"MORE": "more"}, b'{"a": 1}'))
    assert ended.output.splitlines() == ['{"a": 1}', "more", "shell", str(tmp_path)]
    assert ended.code == 0


def test_the_rule_ends_a_program_and_what_it_started(run: Run, tmp_path: Path) -> None:
    """The time limit is the rule's; a child in a session of its own is ended with it."""
    pid = tmp_path / "pid"
    began: list[float] = []

    def limit(_state: RunState, facts: Facts) -> Limit:
        began.append(facts.program_began)
        there = pid.exists() and pid.read_text().endswith("\n")
        return facts.now + (0.0 if there else 0.01), Cut(Cause.TIMEOUT, 7.0)

    ended = run(line(f"setsid sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; wait"), limit)
    assert (ended.code, ended.cut) == (None, Cut(Cause.TIMEOUT, 7.0))
    assert ended.how == "did not end within 7 seconds"
    assert len(set(began)) == 1
    assert began[0] > 0.0, "later than the run began"
    assert not processes.is_alive(int(pid.read_text()))


def test_a_program_that_cannot_be_started_is_a_result(run: Run, tmp_path: Path) -> None:
    """It is called by its name, and nothing is raised."""
    missing = str(tmp_path / "missing")
    ended = run(Program((missing,), "The hook"))
    assert ended.code is None
    assert ended.how == f"could not be started: The hook cannot be started: No such file or directory ({missing})."


@pytest.mark.parametrize("text", ["seq 1 200000", "head -c 3000000 /dev/zero | tr '\\0' x; echo 200000"])
def test_of_much_output_only_the_end_is_kept(run: Run, text: str) -> None:
    """Many lines and one very long line alike."""
    ended = run(line(text, tail=50))
    assert len(ended.output) == 50
    assert ended.output.endswith("200000")
