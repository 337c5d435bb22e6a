"""Names of workspaces, templates and archives: one rule, used by every command that takes one."""

from __future__ import annotations

import re

from claude_iterate.errors import UsageProblem

_RULE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def checked(name: str, what: str = "workspace") -> str:
    """The name itself, or a UsageProblem: a name never holds a separator and never starts with `.` or `-`."""
    if not _RULE.fullmatch(name):
        shown = name if len(name) <= 60 else name[:57] + "..."
        article = "an" if what.startswith("a") else "a"
        raise UsageProblem(
            f"{shown!r} cannot be the name of {article} {what}.",
            "Use up to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit.",
        )
    return name
