"""How Claude Code is called and what it prints. What its errors and tools mean, `core` and `text` know."""
