"""Which keys mean what, on a real pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import termios
from collections.abc import Iterator

import pytest

from claude_iterate.cli.terminal_user import Keys
from claude_iterate.core.events import Requested
from claude_iterate.core.events.enums import Verb
from claude_iterate.core.events.run import Requests
from claude_iterate.core.state.run_state import RunState
from claude_iterate.system import terminals


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    person, program = pty.openpty()
    yield person, program
    os.close(person)
    os.close(program)


def pressed(terminal: tuple[int, int], text: bytes, state: RunState) -> list[Requested]:
    person, program = terminal
    with terminals.single_keys(program):
        os.write(person, text)
        assert select.select([program], [], [], 10)[0]
        return Keys(program)(state)


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        (b"p", [Verb.PAUSE]),
        (b"pp", [Verb.PAUSE, Verb.RESUME]),
        (b"s", [Verb.STOP]),
        (b"nr", [Verb.SKIP, Verb.RETRY]),
        (b"P", [Verb.PAUSE]),
        (b"?", []),
        (b"stop it, please", []),
        (b"\x1b[A", []),
        (b"\x1bOs", []),
        (b"\xff\xfe", []),
        (b"\n", []),
    ],
)
def test_a_key_is_a_request_and_anything_else_is_none(
    terminal: tuple[int, int], text: bytes, verbs: list[Verb]
) -> None:
    """A pasted text or an arrow key steers nothing."""
    assert pressed(terminal, text, RunState()) == [Requested(verb, "key") for verb in verbs]


def test_p_resumes_what_is_paused(terminal: tuple[int, int]) -> None:
    """One key for both."""
    assert pressed(terminal, b"p", RunState(requests=Requests(paused=True))) == [Requested(Verb.RESUME, "key")]


def test_the_terminal_is_restored_even_after_a_crash(terminal: tuple[int, int]) -> None:
    """Keys are not shown meanwhile; Ctrl-C stays a signal."""
    _, program = terminal
    before = termios.tcgetattr(program)

    def crash() -> None:
        with terminals.single_keys(program):
            flags = termios.tcgetattr(program)[3]
            assert not flags & (termios.ECHO | termios.ICANON)
            assert flags & termios.ISIG
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        crash()
    assert termios.tcgetattr(program) == before


def test_a_terminal_that_is_gone_types_nothing() -> None:
    """None says that nothing can come any more; keys are then simply silent."""
    person, program = pty.openpty()
    os.close(person)
    assert terminals.read_keys(program) is None
    assert Keys(program)(RunState()) == []
    os.close(program)
