"""Which permission rules would have allowed what Claude was denied."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from claude_iterate.core.events import Denial
from claude_iterate.core.expressions import expression

_ASSIGNMENT = expression(r"[A-Za-z_]\w*=.*", re.DOTALL)


def rules(denials: tuple[Denial, ...]) -> tuple[str, ...]:
    """The rules, sorted: the same denials are the same rules, in whatever order they came."""
    return tuple(sorted({rule for denial in denials for rule in _rules(denial)}))


def flags(denials: tuple[Denial, ...]) -> str:
    """The flags of `run` that would have allowed it, for a shell."""
    return as_flags(rules(denials))


def as_flags(found: Iterable[str]) -> str:
    """The flags of `run` that add these rules, for a shell."""
    return " ".join(f"--allow {shlex.quote(rule)}" for rule in found)


def _rules(denial: Denial) -> list[str]:
    """For a command a rule for each program in it, because Claude Code looks at each; for the rest the tool's name."""
    programs = _programs(denial.detail) if denial.tool == "Bash" else []
    return [f"Bash({program}:*)" for program in programs] or [denial.tool]


def _programs(command: str) -> list[str]:
    """The program of each part of a command line; `cd` needs no rule, and an assignment is none."""
    words = shlex.shlex(command, posix=True, punctuation_chars=";&|\n")
    words.whitespace, words.whitespace_split = " \t\r", True
    found: list[str] = []
    begins = True
    try:
        for word in words:
            if set(word) <= set(";&|\n"):
                begins = True
            elif begins and not _ASSIGNMENT.fullmatch(word):
                begins = False
                found.append(word)
    except ValueError:  # a quotation that does not end: the detail is cut, what was found stands
        pass
    return [program for program in dict.fromkeys(found) if program != "cd"] or found[:1]
