"""Reads the fake's command line as Claude Code reads its own: the same options, the same complaints."""

from __future__ import annotations

from pathlib import Path

_OPTIONS = """
--version --print --verbose --continue --no-session-persistence --dangerously-skip-permissions
--include-partial-messages --include-hook-events --fork-session --bare --debug

--output-format --input-format --append-system-prompt --append-system-prompt-file --system-prompt --system-prompt-file
--model --fallback-model --max-turns --max-budget-usd --permission-mode --session-id --resume --settings --json-schema
--agents --effort --autocompact

--allowedTools --allowed-tools --disallowedTools --disallowed-tools --tools --add-dir --mcp-config
"""
FLAGS, VALUES, VARIADIC = (frozenset(options.split()) for options in _OPTIONS.split("\n\n"))
"""Options without a value, with one value, and with every word up to the next option."""
ALIASES = {"-p": "--print", "-v": "--version", "-c": "--continue", "-r": "--resume", "-d": "--debug"}


class Refusal(Exception):
    """Claude Code would refuse this command line; the text is what it prints on stderr. Exit code 1."""


class Arguments:
    """The parsed command line. The first of the `words` is the prompt."""

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}
        self.words: list[str] = []

    @property
    def headless(self) -> bool:
        """True when it has to answer and exit, instead of opening a conversation."""
        return "--print" in self.flags


def parse(argv: list[str]) -> Arguments:
    """The arguments, or a Refusal."""
    arguments = Arguments()
    rest = argv[::-1]  # the next word is the last one: that is cheap to take away
    while rest:
        word = rest.pop()
        if word == "--":
            arguments.words.extend(reversed(rest))
            break
        if not word.startswith("-") or word == "-":
            arguments.words.append(word)
        else:
            _take_option(word, rest, arguments)
    if "--version" not in arguments.flags:
        _check(arguments)
    return arguments


def _take_option(word: str, rest: list[str], arguments: Arguments) -> None:
    name, attached, value = word.partition("=")
    name = ALIASES.get(name, name)
    if name in FLAGS:
        arguments.flags.add(name)
    elif name in VALUES:
        if not attached and not rest:
            raise Refusal(f"error: option '{name} <value>' argument missing")
        arguments.values[name] = value if attached else rest.pop()
    elif name in VARIADIC:
        # These eat every word up to the next option, a prompt included: callers must not put one there.
        taken = arguments.lists.setdefault(name, [])
        taken.extend([value] if attached else [])
        while rest and not rest[-1].startswith("-"):
            taken.append(rest.pop())
    else:
        raise Refusal(f"error: unknown option '{word}'")


def _check(arguments: Arguments) -> None:
    wants_stream = arguments.values.get("--output-format") == "stream-json"
    if arguments.headless and wants_stream and "--verbose" not in arguments.flags:
        raise Refusal("Error: When using --print, --output-format=stream-json requires --verbose")
    file = arguments.values.get("--append-system-prompt-file")
    if file is not None and not Path(file).is_file():
        raise Refusal(f"Error: Append system prompt file not found: {file}")
