"""Names of workspaces, templates and archives: one rule, used by every command that takes one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from claude_iterate.core.formats import shorten
from claude_iterate.errors import UsageProblem

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def is_acceptable(name: str) -> bool:
    """True for a name that every command would take."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str, what: str = "workspace") -> str:
    """The name itself, or a UsageProblem: a name never holds a separator and never starts with `.` or `-`."""
    if not is_acceptable(name):
        article = "an" if what.startswith("a") else "a"
        raise UsageProblem(
            f"{shorten(name, 60)!r} cannot be the name of {article} {what}.",
            "Use up to 100 letters without accents, digits, '.', '_' and '-', beginning with a letter or digit.",
        )
    return name


def nearest(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that may have been meant, best first: they begin with the word, or are spelled alike."""
    import difflib

    known = list(dict.fromkeys(known))
    begun = [name for name in known if name.startswith(word)] if len(word) > 2 else []
    return list(dict.fromkeys([*begun, *difflib.get_close_matches(word, known, n=most, cutoff=0.65)]))[:most]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`Did you mean ...? ` for a name that is not there; empty when nothing is close."""
    near = nearest(name, known, 3)
    return f"Did you mean {' or '.join(near)}? " if near else ""
