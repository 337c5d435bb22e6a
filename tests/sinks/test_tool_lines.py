"""How tool calls and their results are shown."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.events import ToolCalled, ToolResult
from claude_iterate.text.tool_lines import STRING_NOT_FOUND, call_lines, headline, result_lines


def called(name: str, whole: bool = False, **values: Any) -> list[str]:
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
    assert called("Read", file_path="/p/a.txt", **values) == ["🔧 Read tool", "   File: /p/a.txt", line]


def test_read_of_a_whole_file_has_no_range() -> None:
    """Without offset and limit there is nothing to say of them."""
    assert called("Read", file_path="/w/TODO.md") == ["🔧 Read tool", "   File: /w/TODO.md"]


def test_edit_shows_short_strings_inline() -> None:
    """Single short lines are quoted; the mode is named."""
    assert called("Edit", replace_all=True, file_path="a", old_string="beta", new_string="") == [
        "🔧 Edit tool",
        "   File: a",
        '   Replacing: "beta"',
        '   With: ""',
        "   Mode: Replace all occurrences",
    ]


def test_edit_never_cuts() -> None:
    """Long or many-lined strings stand as a block, whole, on the console too."""
    old, new = "x" * 5000, "\n".join(f"line {number}" for number in range(300))
    block = called("Edit", file_path="a", old_string=old, new_string=new, replace_all=False)
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
    assert called("Write", file_path="a", content=text) == head
    assert called("Write", True, file_path="a", content="one\ntwo\n")[2:] == [
        "   Content size: 0.01 KB (2 lines)",
        "      one",
        "      two",
    ]


def test_bash_shows_the_whole_command() -> None:
    """A command is never cut; with several lines it becomes a block."""
    assert called("Bash", command="x" * 900, description="why") == [
        "🔧 Bash tool",
        "   Command: " + "x" * 900,
        "   Description: why",
    ]
    assert called("Bash", command="a\nb") == ["🔧 Bash tool", "   Command:", "      a", "      b"]


@pytest.mark.parametrize("tool", ["Grep", "Glob"])
def test_searches_show_pattern_and_path(tool: str) -> None:
    """Pattern, path and whatever else is in the input."""
    assert called(tool, pattern="*.py", path="src", head_limit=3) == [
        f"🔧 {tool} tool",
        "   Pattern: *.py",
        "   Path: src",
        "   Head limit: 3",
    ]


def test_other_tools_show_every_key() -> None:
    """One line for each key; long values are cut on the console and whole in the log."""
    block = called("mcp__x__do", first="a\nb", second={"k": ["ü"]}, third="y" * 300)
    assert block[1:3] == ["   First: a b", '   Second: {"k": ["ü"]}']
    assert block[3] == "   Third: " + "y" * 199 + "…"
    assert called("mcp__x__do", True, first="a\nb", third="y" * 300) == [
        "🔧 mcp__x__do tool",
        "   First:",
        "      a",
        "      b",
        "   Third: " + "y" * 300,
    ]


def test_a_wrong_input_is_shown_all_the_same() -> None:
    """Unexpected keys and types are no reason to hide a call."""
    assert called("Read", wrong="x") == ["🔧 Read tool", "   Wrong: x"]
    assert called("Edit", old_string=5) == ["🔧 Edit tool", '   Replacing: "5"']
    assert called("Bash", command=["ls"]) == ["🔧 Bash tool", '   Command: ["ls"]']


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


def answered(name: str, text: str, whole: bool = False, **more: Any) -> list[str]:
    return "\n".join(result_lines(ToolResult("1", name, text, **more), whole)).split("\n")


def test_read_shows_15_numbered_lines() -> None:
    """The seed's format: count, numbers, how many more; the log has all."""
    text = "\n".join(f"{number}\tline {number}" for number in range(1, 46))
    block = answered("Read", text)
    assert block[:2] == ["✓ File read successfully (45 lines)", "     1 | line 1"]
    assert block[15:] == ["    15 | line 15", "     ... (30 more lines)"]
    assert len(answered("Read", text, True)) == 46


def test_read_keeps_tabs() -> None:
    """Only the first separator counts."""
    assert answered("Read", "    12\ta\tb\n    13\t") == [
        "✓ File read successfully (2 lines)",
        "    12 | a\tb",
        "    13 | ",
    ]
    assert answered("Read", "1\ta → b")[1] == "     1 | a → b"


def test_read_without_numbers() -> None:
    """An image or a notice has no lines to count."""
    assert answered("Read", "[image]") == ["✓ File read successfully", "   [image]"]


def test_the_word_error_is_no_error() -> None:
    """Only `is_error` makes an error, whatever the text says."""
    assert answered("Read", "1\tno error: not found, failed")[0] == "✓ File read successfully (1 line)"
    assert answered("Bash", "error: String to replace not found in file")[0] == "✓ Command finished"


def test_edit_and_write() -> None:
    """One line each; the log keeps Claude's sentence."""
    assert answered("Edit", "The file a has been updated") == ["✓ Edit applied"]
    assert answered("Edit", "The file a has been updated", True)[1:] == ["   The file a has been updated"]
    assert answered("Write", "The file a has been updated") == ["✓ File written"]
    assert answered("Write", "x", facts={"type": "create"}) == ["✓ File created"]
    assert answered("Write", "File created successfully at: a") == ["✓ File created"]


def test_bash_shows_20_lines() -> None:
    """The exit code, and output up to 20 lines on the console, all of it in the log. Where the code is not known to be
    0, none is named."""
    text = "\n".join(map(str, range(25))) + "\n"
    assert answered("Bash", text) == [
        "✓ Command finished",
        "   Exit code: 0",
        *(f"   {number}" for number in range(20)),
        "   ... (5 more lines)",
    ]
    assert answered("Bash", text, True)[2:] == [f"   {number}" for number in range(25)]
    assert answered("Bash", "") == ["✓ Command finished", "   Exit code: 0", "   (no output)"]
    for fact, title in {
        "backgroundTaskId": "✓ Command started in the background",
        "returnCodeInterpretation": "✓ Command finished: b",
    }.items():
        assert answered("Bash", "x", facts={fact: "b"}) == [title, "   x"]


def test_string_not_found_is_explained() -> None:
    """The seed's explanation: three causes and a tip; the log keeps Claude's words as well."""
    text = "<tool_use_error>String to replace not found in file.\nString: old</tool_use_error>"
    assert answered("Edit", text, is_error=True) == [*STRING_NOT_FOUND]
    assert "   String: old" in answered("Edit", text, True, is_error=True)


def test_other_errors_are_not_cut() -> None:
    """The first line with the tool, the rest indented, all of it."""
    text = "Exit code 3\n" + "\n".join(f"line {number}" for number in range(100))
    block = answered("Bash", text, is_error=True)
    assert block[:2] == ["❌ Bash failed: Exit code 3", "   line 0"]
    assert len(block) == 101
    assert answered("Grep", "<tool_use_error>Error: No such tool</tool_use_error>", is_error=True) == [
        "❌ Grep failed: No such tool"
    ]


@pytest.mark.parametrize(("name", "title"), [("Grep", "✓ Grep finished"), ("", "✓ Tool finished")])
def test_any_tool(name: str, title: str) -> None:
    """Tools without a format of their own show their text."""
    assert answered(name, "Found 1 file\na.txt") == [title, "   Found 1 file", "   a.txt"]


def test_a_shortened_result_says_so() -> None:
    """Events from the journal are abridged: the count of lines is then unknown, the cut is shown."""
    block = answered("Read", "1\ta\n2\tb", cut=100)
    assert block[0] == "✓ File read successfully"
    assert block[-1] == "   ... (100 more characters in the raw output)"
