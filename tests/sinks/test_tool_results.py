"""How tool results are shown."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.events import ToolAnswered
from claude_iterate.text.tool_lines import result_lines


def shown(name: str, text: str, whole: bool = False, **more: Any) -> list[str]:
    return "\n".join(result_lines(ToolAnswered("1", name, text, **more), whole)).split("\n")


def test_read_shows_15_numbered_lines() -> None:
    """The seed's format: count, numbers, how many more; the log has all."""
    text = "\n".join(f"{number}\tline {number}" for number in range(1, 46))
    block = shown("Read", text)
    assert block[:2] == ["✓ File read successfully (45 lines)", "     1 | line 1"]
    assert block[15:] == ["    15 | line 15", "     ... (30 more lines)"]
    assert len(shown("Read", text, True)) == 46


def test_read_understands_the_older_arrow_and_keeps_tabs() -> None:
    """`   12→text` and `12<tab>text` are both numbers; only the first separator counts."""
    assert shown("Read", "    12→a\tb\n    13→") == [
        "✓ File read successfully (2 lines)",
        "    12 | a\tb",
        "    13 | ",
    ]
    assert shown("Read", "1\ta → b")[1] == "     1 | a → b"


def test_read_without_numbers() -> None:
    """An image or a notice has no lines to count."""
    assert shown("Read", "[image]") == ["✓ File read successfully", "   [image]"]


def test_the_word_error_is_no_error() -> None:
    """Only `is_error` makes an error, whatever the text says."""
    assert shown("Read", "1\tno error: not found, failed")[0] == "✓ File read successfully (1 line)"
    assert shown("Bash", "error: String to replace not found in file")[0] == "✓ Command finished"


def test_edit_and_write() -> None:
    """One line each; the log keeps Claude's sentence."""
    assert shown("Edit", "The file a has been updated") == ["✓ Edit applied"]
    assert shown("Edit", "The file a has been updated", True)[1:] == ["   The file a has been updated"]
    assert shown("Write", "The file a has been updated") == ["✓ File written"]
    assert shown("Write", "x", facts={"type": "create"}) == ["✓ File created"]
    assert shown("Write", "File created successfully at: a") == ["✓ File created"]


def test_bash_shows_20_lines() -> None:
    """The exit code, and output up to 20 lines on the console, all of it in the log. Where the code is not known to be
    0, none is named."""
    text = "\n".join(map(str, range(25))) + "\n"
    assert shown("Bash", text) == [
        "✓ Command finished",
        "   Exit code: 0",
        *(f"   {number}" for number in range(20)),
        "   ... (5 more lines)",
    ]
    assert shown("Bash", text, True)[2:] == [f"   {number}" for number in range(25)]
    assert shown("Bash", "") == ["✓ Command finished", "   Exit code: 0", "   (no output)"]
    for fact, title in {
        "backgroundTaskId": "✓ Command started in the background",
        "returnCodeInterpretation": "✓ Command finished: b",
    }.items():
        assert shown("Bash", "x", facts={fact: "b"}) == [title, "   x"]


def test_string_not_found_is_explained() -> None:
    """The seed's explanation: three causes and a tip."""
    text = "<tool_use_error>String to replace not found in file.\nString: old</tool_use_error>"
    block = shown("Edit", text, is_error=True)
    assert block == [
        "❌ Edit failed: String not found in file",
        "",
        "   The search string was not found in the file. This could be because:",
        "   - The string has already been changed",
        "   - The string contains special characters that don't match exactly",
        "   - The line breaks or spacing differ from what's in the file",
        "",
        "   Tip: Use the Read tool to verify the current file content",
    ]
    assert "   String: old" in shown("Edit", text, True, is_error=True)


def test_other_errors_are_not_cut() -> None:
    """The first line with the tool, the rest indented, all of it."""
    text = "Exit code 3\n" + "\n".join(f"line {number}" for number in range(100))
    block = shown("Bash", text, is_error=True)
    assert block[:2] == ["❌ Bash failed: Exit code 3", "   line 0"]
    assert len(block) == 101
    assert shown("Grep", "<tool_use_error>Error: No such tool</tool_use_error>", is_error=True) == [
        "❌ Grep failed: No such tool"
    ]


@pytest.mark.parametrize(("name", "title"), [("Grep", "✓ Grep finished"), ("", "✓ Tool finished")])
def test_any_tool(name: str, title: str) -> None:
    """Tools without a format of their own show their text."""
    assert shown(name, "Found 1 file\na.txt") == [title, "   Found 1 file", "   a.txt"]


def test_a_shortened_result_says_so() -> None:
    """Events from the journal are abridged: the count of lines is then unknown, the cut is shown."""
    block = shown("Read", "1\ta\n2\tb", cut=100)
    assert block[0] == "✓ File read successfully"
    assert block[-1] == "   ... (100 more characters in the raw output)"
