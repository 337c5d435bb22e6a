"""`python -m claude_iterate` is `claude-iterate`."""

from claude_iterate.cli import program

program()
