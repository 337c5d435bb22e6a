"""Everything that knows how Claude Code is called and what it prints. No other room does."""
