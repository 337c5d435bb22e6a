"""The versions of Claude Code that claude-iterate is tested with. `scripts/claude-code` installs both for the tests."""

OLDEST = "2.1.197"
"""The oldest that is supported."""
NEWEST = "2.1.327"
"""The newest that was tested. `scripts/claude-code --upgrade` moves it forward."""


def is_older(version: str) -> bool:
    """True for a Claude Code older than the oldest that is supported. What names itself otherwise is left alone."""
    found = _numbers(version)
    return found is not None and found < tuple(map(int, OLDEST.split(".")))


def is_newer(version: str) -> bool:
    """True for a Claude Code newer than the newest that was tested."""
    found = _numbers(version)
    return found is not None and found > tuple(map(int, NEWEST.split(".")))


def is_claude_code(version: str) -> bool:
    """True when `--version` answers as Claude Code does."""
    return version.endswith("(Claude Code)")


def _numbers(version: str) -> tuple[int, ...] | None:
    number = version.partition(" ")[0].split(".")
    return tuple(map(int, number)) if is_claude_code(version) and all(part.isdigit() for part in number) else None
