"""A text too long for a command line lies in a file while it is needed."""

from __future__ import annotations

import pytest

from claude_iterate.agent.command.command_line import LARGEST_ARGUMENT
from claude_iterate.agent.command.long_texts import file_if_long
from claude_iterate.errors import AgentProblem


@pytest.mark.parametrize(
    ("text", "long"),
    [("x" * LARGEST_ARGUMENT, False), ("x" * (LARGEST_ARGUMENT + 1), True), ("é" * (LARGEST_ARGUMENT - 1), True)],
)
def test_a_file_only_if_it_must_be(tmp_path, text, long):
    """Its size in bytes counts, and it is gone afterwards."""
    with file_if_long(text, f"{tmp_path}/new/system.md") as file:
        assert (file is not None) == long
        assert file is None or file.read_text() == text
    assert not (tmp_path / "new" / "system.md").exists()


def test_a_file_that_cannot_be_written_is_an_expected_error(tmp_path):
    """It ends the run with a message, not with a crash."""
    (tmp_path / "file").touch()
    with pytest.raises(AgentProblem, match="cannot be written"), file_if_long("x" * 200_000, f"{tmp_path}/file/x"):
        pass
