"""The versions of Claude Code that claude-iterate is tested with. `scripts/claude-code` installs both for the tests."""

OLDEST = "2.1.197"
"""The oldest that is supported."""
NEWEST = "2.1.327"
"""The newest that was tested. `scripts/claude-code --upgrade` moves it forward."""
