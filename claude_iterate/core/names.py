"""Names of workspaces, templates and archives: one rule, used by every command that takes one."""

from __future__ import annotations

from collections.abc import Iterable

from claude_iterate.core.expressions import expression
from claude_iterate.core.formats import shortened
from claude_iterate.errors import UsageProblem

_RULE = expression(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def acceptable(name: str) -> bool:
    """True for a name that every command would take."""
    return _RULE.fullmatch(name) is not None


def checked(name: str, what: str = "workspace") -> str:
    """The name itself, or a UsageProblem: a name never holds a separator and never starts with `.` or `-`."""
    if not acceptable(name):
        article = "an" if what.startswith("a") else "a"
        raise UsageProblem(
            f"{shortened(name, 60)!r} cannot be the name of {article} {what}.",
            "Use up to 100 letters a-z, digits, '.', '_' and '-', beginning with a letter or digit.",
        )
    return name


def meant(name: str, known: Iterable[str]) -> str:
    """`Did you mean ...? ` for a name that is not there; empty when nothing is close."""
    import difflib  # only when something went wrong

    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}? " if close else ""
