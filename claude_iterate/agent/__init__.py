"""How Claude Code is called and what it prints. What its errors, denials and tools mean is known in `core` and `text`."""
