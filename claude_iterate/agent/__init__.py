"""Everything that knows Claude Code; nothing outside this package does."""
