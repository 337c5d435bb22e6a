"""Which keys mean what, on a real pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
from collections.abc import Iterator

import pytest

from claude_iterate.cli.terminal_user import Keys
from claude_iterate.core.events import Requested
from claude_iterate.core.events.enums import Verb
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
        (b"kr", [Verb.SKIP, Verb.RETRY]),
        (b"n", []),
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


def test_a_terminal_that_is_gone_types_nothing() -> None:
    """None says that nothing can come any more; keys are then simply silent."""
    person, program = pty.openpty()
    os.close(person)
    assert terminals.read_keys(program) is None
    assert Keys(program)(RunState()) == []
    os.close(program)
