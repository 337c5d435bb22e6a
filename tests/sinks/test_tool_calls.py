"""How tool calls are shown."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.events import ToolCalled
from claude_iterate.text.tool_lines import call_lines, headline


def shown(name: str, whole: bool = False, **values: Any) -> list[str]:
    return "\n".join(call_lines(ToolCalled("1", name, values), whole)).split("\n")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"offset": 10, "limit": 5}, "   Range: Lines 10-14"),
        ({"limit": 5}, "   Range: Lines 1-5"),
        ({"offset": 10}, "   Range: Lines 10-end"),
        ({"offset": "ten", "limit": None}, "   Range: Lines 1-end"),
    ],
)
def test_read_shows_file_and_range(values: dict[str, Any], line: str) -> None:
    """The range is the first and the last line asked for."""
    assert shown("Read", file_path="/p/a.txt", **values) == ["🔧 Read tool", "   File: /p/a.txt", line]


def test_read_of_a_whole_file_has_no_range() -> None:
    """Without offset and limit there is nothing to say of them."""
    assert shown("Read", file_path="/w/TODO.md") == ["🔧 Read tool", "   File: /w/TODO.md"]


def test_edit_shows_short_strings_inline() -> None:
    """Single short lines are quoted; the mode is named."""
    assert shown("Edit", replace_all=True, file_path="a", old_string="beta", new_string="") == [
        "🔧 Edit tool",
        "   File: a",
        '   Replacing: "beta"',
        '   With: ""',
        "   Mode: Replace all occurrences",
    ]


def test_edit_never_cuts() -> None:
    """Long or many-lined strings stand as a block, whole, on the console too."""
    old, new = "x" * 5000, "\n".join(f"line {number}" for number in range(300))
    block = shown("Edit", file_path="a", old_string=old, new_string=new, replace_all=False)
    assert block == [
        "🔧 Edit tool",
        "   File: a",
        "   Replacing:",
        "      " + old,
        "   With:",
        *(f"      line {number}" for number in range(300)),
    ]


def test_write_shows_the_size() -> None:
    """Kilobytes and lines; the text itself only in the log."""
    text = "ä" * 614 + "\n" + "line\n" * 3
    head = ["🔧 Write tool", "   File: a", "   Content size: 1.2 KB (4 lines)"]
    assert shown("Write", file_path="a", content=text) == head
    assert shown("Write", True, file_path="a", content="one\ntwo\n")[2:] == [
        "   Content size: 0.01 KB (2 lines)",
        "      one",
        "      two",
    ]


def test_bash_shows_the_whole_command() -> None:
    """A command is never cut; with several lines it becomes a block."""
    assert shown("Bash", command="x" * 900, description="why") == [
        "🔧 Bash tool",
        "   Command: " + "x" * 900,
        "   Description: why",
    ]
    assert shown("Bash", command="a\nb") == ["🔧 Bash tool", "   Command:", "      a", "      b"]


@pytest.mark.parametrize("tool", ["Grep", "Glob"])
def test_searches_show_pattern_and_path(tool: str) -> None:
    """Pattern, path and whatever else is in the input."""
    assert shown(tool, pattern="*.py", path="src", head_limit=3) == [
        f"🔧 {tool} tool",
        "   Pattern: *.py",
        "   Path: src",
        "   head_limit: 3",
    ]


def test_other_tools_show_every_key() -> None:
    """One line for each key; long values are cut on the console and whole in the log."""
    block = shown("mcp__x__do", first="a\nb", second={"k": ["ü"]}, third="y" * 300)
    assert block[1:3] == ["   first: a b", '   second: {"k": ["ü"]}']
    assert block[3] == "   third: " + "y" * 199 + "…"
    assert shown("mcp__x__do", True, first="a\nb", third="y" * 300) == [
        "🔧 mcp__x__do tool",
        "   first:",
        "      a",
        "      b",
        "   third: " + "y" * 300,
    ]


def test_a_wrong_input_is_shown_all_the_same() -> None:
    """Unexpected keys and types are no reason to hide a call."""
    assert shown("Read", wrong="x") == ["🔧 Read tool", "   wrong: x"]
    assert shown("Edit", old_string=5) == ["🔧 Edit tool", '   Replacing: "5"']
    assert shown("Bash", command=["ls"]) == ["🔧 Bash tool", '   Command: ["ls"]']


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("Bash", {"command": "npm\n test", "description": "d"}, "Bash npm test"),
        ("Read", {"file_path": "/a/b/c.txt"}, "Read c.txt"),
        ("TodoWrite", {"todos": []}, "TodoWrite"),
    ],
)
def test_headline(name: str, values: dict[str, Any], text: str) -> None:
    """The live line names a call in a few words."""
    assert headline(ToolCalled("1", name, values)) == text
