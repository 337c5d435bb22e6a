"""The narrowest rule of Claude Code that allows a command and its like: two or three words, never a whole program that
can do anything."""

from __future__ import annotations

import re

from claude_iterate.core.shell import programs
from claude_iterate.core.shell.commands import SimpleCommand, unquote

_LONGEST = 100
"""Characters of a rule: a longer one is not narrow, it is a script."""
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_.-]*(?<!\.)")
_VERSION = "0123456789."

_Words = tuple[str, ...]


def needs_no_rule(command: SimpleCommand) -> bool:
    """True when Claude Code allows the command by itself, because it only reads."""
    words = inner_words(command)
    if not words:
        return True
    if words[0] == "find" and not {"-delete", "-exec", "-execdir", "-ok"}.isdisjoint(map(unquote, words)):
        return False
    return words[0] in programs.HARMLESS or _pair(words) in programs.HARMLESS


def rules_for(command: SimpleCommand) -> tuple[str, ...] | None:
    """The rules for one command; None when any rule for it would be one for everything. A variable that is set before
    the program needs a rule of its own, because Claude Code compares it too."""
    words = inner_words(command)
    if not words:
        return ()
    narrow = _narrow(words)
    if narrow is None:
        return None
    rules = [narrow]
    variables = [word for word in command.assignments if word.split("=")[0] not in programs.IGNORED_VARIABLES]
    if words[0] == "env":
        started = _started_command(words, 1)
        bare = _narrow(started) if started else None
        rules = [*([bare] if bare else []), narrow]
    elif variables:
        rules.append(" ".join([*command.assignments, narrow]))
    return tuple(f"Bash({rule})" for rule in rules if len(rule) <= _LONGEST and "\n" not in rule)


def is_allowed(rule: str, allowed: tuple[str, ...]) -> bool:
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


def inner_words(command: SimpleCommand) -> _Words:
    """The command behind wrappers that Claude Code looks through."""
    words = command.words
    while words and words[0] in programs.LOOKED_THROUGH:
        own = programs.LOOKED_THROUGH[words[0]]
        words = _after_options(words[1:])[own:]
    return words


def _after_options(words: _Words) -> _Words:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in programs.VALUED_OPTIONS else words[1:]
    return words


def _started_command(words: _Words, prefix: int) -> _Words:
    """What a prefix of so many words starts; after `env` without the variables."""
    started = _after_options(words[prefix:])
    while words[0] == "env" and started and "=" in started[0]:
        started = started[1:]
    return started


def _pair(words: _Words) -> str:
    return " ".join(words[:2])


def _narrow(words: _Words) -> str | None:
    """What stands between the brackets of the rule: a beginning with `:*`, or the whole command; None when any rule
    would allow anything."""
    name, pair = unquote(words[0]).rsplit("/", 1)[-1], _pair(words)
    if name in programs.RUN_ANYTHING or "$" in words[0] or "`" in words[0]:
        return None
    if name in programs.TASK_RUNNERS and len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]):
        return None if words[1] == "eval" else _beginning(words, name)
    if name.rstrip(_VERSION) in programs.INTERPRETERS:
        return _script(words)
    if pair in programs.PREFIXES or name in programs.PREFIXES:
        return _behind_prefix(words, 2 if pair in programs.PREFIXES else 1)
    if name in programs.EXACT or pair in programs.EXACT:
        whole = " ".join(words)
        return None if "$" in whole or "`" in whole else whole
    return _beginning(words, name)


def _script(words: _Words) -> str | None:
    """An interpreter: with a module or a script it is narrow, with code on the command line or from a pipe never."""
    for position, word in enumerate(words[1:], 1):
        if word == "-m" and len(words) > position + 1:
            return " ".join(words[: position + 2]) + ":*"
        if word == "--test" or not word.startswith("-"):
            return " ".join(words[: position + 1]) + ":*" if "$" not in word else None
        if word in {"--eval", "--print"} or not (word.startswith("--") or word in programs.MODEST_OPTIONS):
            return None
    return None


def _behind_prefix(words: _Words, prefix: int) -> str | None:
    """A program that starts another: the rule names both."""
    started = _started_command(words, prefix)
    if not started:
        return " ".join(words) + (":*" if prefix == 2 else "")
    narrow = _narrow(started)
    return None if narrow is None else " ".join([*words[: len(words) - len(started)], narrow])


def _beginning(words: _Words, name: str) -> str:
    """A program, with its sub-command where it has one; options before the sub-command belong to it."""
    taken = 1
    if name in programs.WITH_LEADING_OPTIONS:
        while taken < len(words) - 1 and words[taken] in programs.LEADING_OPTIONS:
            taken += 2
    if name in programs.ALONE or taken >= len(words) or not _SUBCOMMAND.fullmatch(words[taken]):
        return f"{words[0]}:*"
    if words[taken] in programs.TASKS and taken + 1 < len(words) and not words[taken + 1].startswith("-"):
        taken += 1
    return " ".join(words[: taken + 1]) + ":*"
