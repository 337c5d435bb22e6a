"""Log and console share the blocks that are the same for both, and show what they would show alone."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core import events
from claude_iterate.core.events import Entry, Event, Said, Thought, ToolAnswered, ToolCalled
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.console.console import Console
from claude_iterate.sinks.log.text_log import TextLog
from claude_iterate.text.claude_blocks import FITS, LIMITED, lines
from claude_iterate.text.line_blocks import CONSOLE, WHOLE
from claude_iterate.text.transcript import SharedBlocks

FIXTURES = Path(__file__).parents[1] / "fixtures"


def _recorded() -> list[Event]:
    translate = Translator().translate
    raw = [line for path in sorted(FIXTURES.glob("claude-*/*.ndjson")) for line in path.read_bytes().splitlines()]
    return [event for line in raw for event in translate(line)]


def _shown(tmp_path: Path, batches: list[list[Event]], blocks: SharedBlocks | None, color: bool) -> tuple[bytes, str]:
    path = tmp_path / ("shared.log" if blocks is not None else "alone.log")
    screen = io.StringIO()
    log = TextLog(path, pytest.fail, blocks=blocks)
    console = Console(io.StringIO(), screen, "verbose", color=color, forced_color=color, blocks=blocks)
    for events_of_batch in batches:
        batch = [(Entry(1, 0.0, 0.0, event), RunState()) for event in events_of_batch]
        log(batch)
        console(batch)
    log.close()
    text = screen.getvalue()
    console.close()
    return path.read_bytes(), text


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_recorded_streams_look_the_same_shared_or_not(tmp_path: Path, size: int, color: bool) -> None:
    """Byte for byte, in batches of any size, with lines of the run between them."""
    found = _recorded()
    parts = [found[start : start + size] for start in range(0, len(found), size)]
    warning: list[Event] = [events.Warned("careful")]
    batches = [batch for part in parts for batch in (part, warning)]
    shared = _shown(tmp_path, batches, SharedBlocks(), color)
    assert shared == _shown(tmp_path, batches, None, color)
    assert len(shared[0]) > 10_000


def test_what_is_not_limited_is_the_same_within_any_limits() -> None:
    """Else the console would show the log's lines."""
    long = "word\n" * 50
    others = [
        Said(long),
        Said(long, "parent"),
        Thought(long),
        *(each for each in _recorded() if type(each) not in LIMITED),
    ]
    for event in others:
        assert lines(event, WHOLE) == lines(event, CONSOLE), event


_TEXT = st.text(alphabet="ab \n\t\u00a0\u2028✓", max_size=12) | st.sampled_from(
    ["x" * 200, "x" * 201, "a\n" * 14, "a\n" * 30]
)
_NAME = st.sampled_from(["Bash", "Read", "Edit", "Write", "Grep", "mcp"])
_KEY = st.sampled_from(
    ["command", "file_path", "description", "content", "old_string", "offset", "limit", "replace_all"]
)
_VALUE = _TEXT | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False) | st.lists(st.integers())


@given(st.builds(ToolCalled, st.just("1"), _NAME, st.dictionaries(_KEY, _VALUE), st.sampled_from(["", "p"])))
@example(ToolCalled("1", "Bash", {"timeout": 10**300}))
@example(ToolCalled("1", "Bash", {"description": " a"}))
@example(ToolCalled("1", "Bash", {"description": "a  b"}))
@example(ToolCalled("1", "Bash", {"description": "a "}))
def test_a_call_that_fits_is_the_same_in_both(call: ToolCalled) -> None:
    """Whatever its input is: what the console takes from the log is what it would have made."""
    assert not FITS[ToolCalled](call) or lines(call, WHOLE) == lines(call, CONSOLE)


@given(st.builds(ToolAnswered, st.just("1"), _NAME, _TEXT, st.booleans(), st.just({}), st.just(""), st.integers(0, 1)))
@example(ToolAnswered("1", "Edit", "String not found in file: x", True))
def test_an_answer_that_fits_is_the_same_in_both(answer: ToolAnswered) -> None:
    """Whatever its text is."""
    assert not FITS[ToolAnswered](answer) or lines(answer, WHOLE) == lines(answer, CONSOLE)


def test_most_calls_and_answers_fit() -> None:
    """Else all this would be of no use."""
    found = [each for each in _recorded() if isinstance(each, ToolCalled | ToolAnswered)]
    assert sum(FITS[type(each)](each) for each in found) > 0.6 * len(found)


def test_every_limited_kind_says_whether_it_fits() -> None:
    """And what does not fit is made by the console itself: a long message to the model is cut there."""
    assert FITS.keys() == LIMITED.keys()
    long = events.Told("word\n" * 500)
    blocks = SharedBlocks()
    whole = blocks.kept(long, WHOLE)
    assert blocks.taken(long, CONSOLE) == lines(long, CONSOLE) != whole


def test_equal_events_are_told_apart() -> None:
    """Blocks belong to one event each: the second of two equal ones is not taken for the first."""
    blocks = SharedBlocks()
    first, second = Said("same"), Said("same")
    block = blocks.kept(first, WHOLE)
    assert blocks.taken(second, CONSOLE) is not block
    assert blocks.taken(first, CONSOLE) is block
    assert blocks.taken(first, CONSOLE) is not block  # it was taken away


def test_what_the_console_shows_shorter_is_made_for_it() -> None:
    """A long answer and a long input are cut on the console and whole in the log."""
    blocks = SharedBlocks()
    for event in (ToolAnswered("1", "Bash", "x\n" * 100), ToolCalled("1", "Other", {"value": "x" * 1000})):
        assert blocks.kept(event, WHOLE) == lines(event, WHOLE)
        assert blocks.taken(event, CONSOLE) == lines(event, CONSOLE) != lines(event, WHOLE)


def test_no_batch_but_the_last_is_held() -> None:
    """A console that has left takes nothing away, one without a log keeps nothing; memory stays flat all the same."""
    blocks = SharedBlocks()
    first, second = Said("first"), Said("second")
    before = sys.getrefcount(first)
    blocks.begin()
    blocks.kept(first, WHOLE)
    assert sys.getrefcount(first) == before + 1
    blocks.begin()
    blocks.kept(second, WHOLE)
    assert sys.getrefcount(first) == before
    assert blocks.taken(first, CONSOLE) == ["first"]
    assert sys.getrefcount(first) == before


ODD = ["plain", "\x1b[2Jgone", "\u202eevil", "a\x9bb", "✓ fine", "\ud800", "tab\tand\nlines", "\r"]


def _odd_events() -> list[Event]:
    """Calls and answers of all texts: an answer that comes later names its call."""
    called = [ToolCalled(str(number), "Bash", {"command": text}) for number, text in enumerate(ODD)]
    answered = [ToolAnswered(str(number), "Bash", "fine") for number in range(len(ODD))]
    return [*called, *answered, *map(Said, ODD)]


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_harmful_text_looks_the_same_shared_or_not(tmp_path: Path, size: int, color: bool) -> None:
    """Wherever it stands, and whatever stands beside it."""
    found = _odd_events()
    batches = [found[start : start + size] for start in range(0, len(found), size)]
    shared = _shown(tmp_path, batches, SharedBlocks(), color)
    assert shared == _shown(tmp_path, batches, None, color)
    assert "\x1b[2J" not in shared[1]
