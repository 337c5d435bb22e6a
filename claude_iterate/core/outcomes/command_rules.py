"""The rules of Claude Code that allow a command line: for each of its commands the first words, and `:*`.

Any text has an answer, because what Claude was denied may be cut off; nothing is expanded. For what can delete, send or
publish something the rule is exactly the command, and what can run anything has none.
"""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile

_HERE_DOCUMENT = re.compile(
    r"(?<!<)<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*\n)(?:.*?^[ \t]*\2[ \t]*$|.*)", re.DOTALL | re.MULTILINE
)
_TOKEN = re.compile(
    r"""\#[^\n]*
      | (?P<redirect>(?:\d+|&)?[<>]+[&|]?)
      | (?P<end>[\n;&|()]+)
      | (?P<word>(?:\\. | '[^']*'? | "(?:\\.|[^"\\])*"? | [^\s;&|()<>'"\\])+)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{"})
"""A command may follow them."""
_NO_COMMANDS = frozenset({"for", "select", "case", "function", "fi", "done", "esac", "}"})
_VARIABLE = re.compile(r"(?:/usr/bin/)?env$|[A-Za-z_]\w*=")
_LOOKED_THROUGH = frozenset({"timeout", "nice", "nohup", "time", "stdbuf"})
"""Claude Code compares what stands behind them."""
_OPTION = re.compile(r"-|[\d.]+[smhd]?$")
_PROGRAM = re.compile(r"[\w./~][\w./+-]*")
_SUBCOMMAND = re.compile(r"[a-z][\w:-]*")
_INTERPRETER = re.compile(r"(?:ba|z|da|k|fi)?sh|(?:python|pypy)[\d.]*|node|ruby|perl|php|lua|Rscript")
_SCRIPT = re.compile(r"(?:-[uBIO] )*(?:-m [^\s$]+|--test\b|[^\s$-][^\s$]*)")
"""A module or a file that an interpreter runs."""
_LAUNCHERS = frozenset(
    {
        *("npx", "bunx", "uvx", "pipx", "xargs", "command"),
        *("uv run", "poetry run", "pipenv run", "hatch run", "pdm run", "bundle exec"),
        *("npm exec", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx"),
        *("npm run", "pnpm run", "yarn run", "bun run"),
    }
)
"""What they start belongs to the rule."""
_RUN_ANYTHING = frozenset(
    {
        *("sudo", "su", "doas", "eval", "exec", "source", ".", "ssh", "chroot", "deno"),
        *("awk", "gawk", "mawk", "parallel", "watch", "setsid", "at"),
    }
)
_EXACT = frozenset(
    {
        *("rm", "rmdir", "dd", "chmod", "chown", "kill", "pkill", "curl", "wget", "nc", "scp", "rsync", "docker"),
        *("podman", "kubectl", "helm", "terraform", "aws", "gcloud", "az", "gh", "psql", "mysql", "sqlite3"),
        *("crontab", "systemctl", "mount", "shutdown", "reboot"),
        *("git push", "git reset", "git clean", "git checkout", "git restore", "git rebase", "git config"),
        *("npm publish", "pnpm publish", "yarn publish", "cargo publish", "npm config"),
    }
)
"""What can delete, send or publish something."""
_ALONE = frozenset({"pytest", "mypy", "tox", "eslint", "tsc", "jest", "vitest"})
"""Their first argument is a file, not a sub-command."""


def commands_in(line: str) -> list[list[str]]:
    """The words of each command as they were typed, without redirections and keywords."""
    found: list[list[str]] = [[]]
    is_target = False
    for token in _TOKEN.finditer(_HERE_DOCUMENT.sub(r"\3", line)):
        if token["end"]:
            found.append([])
        elif token["word"] and not is_target and (found[-1] or token[0] not in _KEYWORDS):
            found[-1].append(token[0])
        is_target = token["redirect"] is not None
    return [words for words in found if words and words[0] not in _NO_COMMANDS]


def started_by(words: list[str]) -> list[str]:
    """The program and its arguments, behind variables and what Claude Code looks through."""
    started = list(dropwhile(_VARIABLE.match, words))
    while started and started[0] in _LOOKED_THROUGH:
        started = list(dropwhile(_OPTION.match, started[1:]))
    return started


def rules_for(words: list[str]) -> tuple[str, ...]:
    """The rules for one command; none where each would be one for everything. Claude Code compares variables that are
    set before the program, too."""
    narrow = _narrow(started_by(words))
    if narrow is None:
        return ()
    variables = " ".join(takewhile(_VARIABLE.match, words))
    return (f"Bash({narrow})", f"Bash({variables} {narrow})") if variables else (f"Bash({narrow})",)


def _narrow(words: list[str]) -> str | None:
    """What stands between the brackets of the rule."""
    if not words or not _PROGRAM.fullmatch(words[0]):
        return None
    name = words[0].rpartition("/")[2]
    verb = 3 if words[1:2] in (["-C"], ["--prefix"]) else 1
    pair = " ".join([name, *words[verb : verb + 1]])
    before = verb + 1 if pair in _LAUNCHERS else int(name in _LAUNCHERS)
    if before and not "".join(words[before : before + 1]).startswith("-"):
        narrow = _narrow(words[before:])
        return None if narrow is None else " ".join([*words[:before], narrow])
    if before or name in _EXACT or pair in _EXACT:
        whole = " ".join(words)
        return None if re.search(r"[$`\n]", whole) else whole
    if name in _RUN_ANYTHING:
        return None
    if _INTERPRETER.fullmatch(name):
        script = _SCRIPT.match(" ".join(words[1:]))
        return f"{words[0]} {script[0]}:*" if script else None
    has_verb = name not in _ALONE and len(words) > verb and _SUBCOMMAND.fullmatch(words[verb])
    return " ".join(words[: verb + 1 if has_verb else verb]) + ":*"


def is_allowed(rule: str, allowed: tuple[str, ...]) -> bool:
    """True when one of the rules that are set allows what this rule allows."""
    tool, _, inside = rule.partition("(")
    wanted = inside.removesuffix(")").removesuffix(":*")
    prefixes = [one[5:-3] for one in allowed if one.startswith("Bash(") and one.endswith((":*)", " *)"))]
    return (
        rule in allowed
        or tool in allowed
        or (tool == "Bash" and any(f"{wanted} ".startswith(f"{prefix} ") for prefix in prefixes))
    )
