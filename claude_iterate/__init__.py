"""Give Claude Code a task, walk away, come back to proven work."""

__version__ = "0.1.0"
