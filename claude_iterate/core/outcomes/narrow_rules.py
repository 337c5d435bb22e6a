"""The narrowest rule of Claude Code that allows a command and its like: two or three words, never a whole program that
can do anything."""

from __future__ import annotations

import re

from claude_iterate.core.outcomes import known_programs as programs
from claude_iterate.core.outcomes.shell_commands import Simple, unquoted

_LONGEST = 100
"""Characters of a rule: a longer one is not narrow, it is a script."""
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_.-]*(?<!\.)")
_VERSION = "0123456789."


def needs_no_rule(command: Simple) -> bool:
    """True when Claude Code allows the command by itself, because it only reads."""
    words = _inner(command.words)
    if not words:
        return True
    if words[0] == "find" and any(unquoted(word) in {"-delete", "-exec", "-execdir", "-ok"} for word in words):
        return False
    return words[0] in programs.HARMLESS or (words[0] == "git" and len(words) > 1 and words[1] in programs.HARMLESS_GIT)


def rules_for(command: Simple) -> tuple[str, ...]:
    """The rules for one command; none when no rule would be narrow. A variable that is set before the program needs a
    rule of its own, because Claude Code compares it too."""
    words = _inner(command.words)
    if not words:
        return ()
    chosen = _narrow(words)
    if chosen is None:
        return ()
    rules = [chosen]
    variables = [word for word in command.assignments if word.split("=")[0] not in programs.IGNORED_VARIABLES]
    if words[0] == "env":
        bare = _after_options(words[1:])
        while bare and "=" in bare[0]:
            bare = bare[1:]
        plain = _narrow(bare) if bare else None
        rules = [*([plain] if plain else []), chosen]
    elif variables:
        rules.append(" ".join([*command.assignments, chosen]))
    return tuple(f"Bash({rule})" for rule in rules if len(rule) <= _LONGEST and "\n" not in rule)


def runs_anything(command: Simple) -> str:
    """The words that make a rule for this command one for everything; empty when a rule can be narrow."""
    words = _inner(command.words)
    return " ".join(words[:2]) if words and _narrow(words) is None else ""


def covered(rule: str, allowed: tuple[str, ...]) -> bool:
    """True when one of the rules that are set allows what this rule allows."""
    tool, _, inside = rule.partition("(")
    if rule in allowed or tool in allowed:
        return True
    wanted = inside.removesuffix(")").removesuffix(":*")
    for one in allowed:
        other, _, prefix = one.partition("(")
        prefix = prefix.removesuffix(")")
        if other == tool == "Bash" and prefix.endswith((":*", " *")):
            prefix = prefix[:-2]
            if wanted == prefix or wanted.startswith(f"{prefix} "):
                return True
    return False


def _inner(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command behind wrappers that Claude Code looks through."""
    while words and words[0] in programs.LOOKED_THROUGH:
        own = programs.LOOKED_THROUGH[words[0]]
        words = _after_options(words[1:])[own:]
    return words


def _after_options(words: tuple[str, ...]) -> tuple[str, ...]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in programs.VALUED_OPTIONS else words[1:]
    return words


def _narrow(words: tuple[str, ...]) -> str | None:
    """What stands between the brackets of the rule: a beginning with `:*`, or the whole command; None when any rule
    would allow anything."""
    name = unquoted(words[0]).rsplit("/", 1)[-1]
    pair = " ".join(words[:2])
    if name in programs.RUN_ANYTHING or "$" in words[0] or "`" in words[0]:
        return None
    if name in programs.TASK_RUNNERS and len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]):
        return None if words[1] == "eval" else _beginning(words, name)
    if name in programs.SHELLS or name.rstrip(_VERSION) in programs.INTERPRETERS:
        return _script(words)
    if pair in programs.PREFIX_PAIRS or name in programs.PREFIXES:
        return _behind_prefix(words, 2 if pair in programs.PREFIX_PAIRS else 1)
    if name in programs.EXACT or pair in programs.EXACT_PAIRS:
        whole = " ".join(words)
        return None if "$" in whole or "`" in whole else whole
    return _beginning(words, name)


def _script(words: tuple[str, ...]) -> str | None:
    """An interpreter: with a module or a script it is narrow, with code on the command line or from a pipe never."""
    for position, word in enumerate(words[1:], 1):
        if word == "-m" and len(words) > position + 1:
            return " ".join(words[: position + 2]) + ":*"
        if word == "--test" or not word.startswith("-"):
            return " ".join(words[: position + 1]) + ":*" if "$" not in word else None
        if word in {"--eval", "--print"} or not (word.startswith("--") or word in programs.MODEST_OPTIONS):
            return None
    return None


def _behind_prefix(words: tuple[str, ...], length: int) -> str | None:
    """A program that starts another: the rule names both."""
    rest = words[length:]
    inner = _after_options(rest)
    while inner and words[0] == "env" and "=" in inner[0]:
        inner = inner[1:]
    if not inner:
        return " ".join(words) + (":*" if length == 2 else "")
    found = _narrow(inner)
    if found is None:
        return None
    return " ".join([*words[: len(words) - len(inner)], found])


def _beginning(words: tuple[str, ...], name: str) -> str:
    """A program, with its sub-command where it has one; options before the sub-command belong to it."""
    if name in programs.ALONE:
        return f"{words[0]}:*"
    taken = 1
    if name in programs.WITH_LEADING_OPTIONS:
        while taken < len(words) - 1 and words[taken] in programs.LEADING_OPTIONS:
            taken += 2
    if taken < len(words) and _SUBCOMMAND.fullmatch(words[taken]):
        taken += 1
        if words[taken - 1] in programs.TASKS and taken < len(words) and not words[taken].startswith("-"):
            taken += 1
    elif taken > 1:
        taken = 1
    return " ".join(words[:taken]) + ":*"
