"""What would have allowed what Claude was denied: a permission mode, narrow rules, or nothing at all.

Claude Code says with each refusal why. The type of its reason decides where it means one thing, else its words: some
forms of command are refused whatever the rules are, and then no rule is offered.
"""

from __future__ import annotations

import re
import shlex

import msgspec

from claude_iterate.core.events import Denial
from claude_iterate.core.formats import one_line, shorten
from claude_iterate.core.outcomes.command_rules import commands_in, is_allowed, rules_for, started_by

FOR_ONE_RUN = "Or for one run: "
"""Begins the line of advice on a denial that changes no setting."""
_EDITING = "acceptEdits"
_WRITING_MODES = frozenset({_EDITING, "bypassPermissions", "auto"})
"""Modes in which files of the project can be written."""
_EDITORS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_EDITS = frozenset({"touch", "mkdir", "rmdir", "cp", "mv", "rm"})
"""Programs that the mode acceptEdits allows within the project."""
_LOOKS = frozenset({"cd", "ls", "cat", "head", "tail", "grep", "echo", "printf", "wc", "pwd", "test", "["})
"""The most common programs that no one needs a rule for."""
_HOPELESS_TYPES = frozenset({"safetyCheck", "classifier", "hook", "rule"})
"""Types of reasons that no rule lifts. `other`, `mode` and `asyncAgent` stand for several sorts of them."""
_HOPELESS = re.compile(
    r"^Contains |can't be checked before it runs|shell operators that require approval|cannot be auto-allowed"
    r"|Approve only if you trust"
    r"|evaluates arguments as shell code|is a sensitive file|Dangerous .* operation|\bhook\b"
)
"""How Claude Code words a refusal that no rule lifts."""
_PATH = re.compile(
    r"'(?P<path>/[^']*)' (?:needs approval\. The path is"
    r"|was blocked\. For security, Claude Code may only (?P<verb>[a-z]+))"
)
"""How it names the path of a command that it is about: before 2.1.302 with the verb; since then so only where nothing
is written."""
_WRITES = frozenset({None, "write", "create", "copy", "move", "remove", "edit"})
_PARTS = re.compile(r"following parts? requires? approval: (?P<parts>.*)")
_SAID_KEPT = 500


class Granted(msgspec.Struct, frozen=True):
    """What Claude was allowed to do. `roots` are the names of the project's folder; `program` is what stands before a
    command of ours, for a shell; `checkout` is the user's own one, if the run works in a worktree."""

    workspace: str = "NAME"
    mode: str = ""
    tools: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    program: str = "claude-iterate"
    checkout: str = ""


class Remedy(msgspec.Struct, frozen=True):
    """A permission mode, rules, and what neither would have allowed, each with its reason."""

    mode: str = ""
    rules: tuple[str, ...] = ()
    hopeless: tuple[str, ...] = ()


def missing_permissions(denials: tuple[Denial, ...]) -> tuple[str, ...]:
    """What was missing, sorted, whatever is granted: the same denials are the same words, in whatever order they
    came."""
    return tuple(sorted({name for denial in denials for name in _missing(denial)}))


def _missing(denial: Denial) -> list[str]:
    """The first rule for each command, the kind of a refusal that no rule lifts, else the tool."""
    if _is_hopeless(denial):
        return [f"{denial.tool} ({_reason(denial)})"]
    if denial.tool != "Bash":
        return [denial.tool]
    commands = _denied_commands(denial)
    return [next(iter(rules_for(words)), f"Bash ({_name(words)})") for words in commands] or ["Bash"]


def find_remedy(denials: tuple[Denial, ...], granted: Granted) -> Remedy:
    """What would have allowed all of it. A rule that is set already is not offered again."""
    found = [_remedy(denial, granted) for denial in denials]
    return Remedy(
        next((one.mode for one in found if one.mode), ""),
        tuple(sorted({rule for one in found for rule in one.rules})),
        tuple(dict.fromkeys(reason for one in found for reason in one.hopeless)),
    )


def options(remedy: Remedy) -> tuple[tuple[str, str], ...]:
    """The options of `run` that would have allowed it."""
    mode = [("--permission-mode", remedy.mode)] if remedy.mode else []
    return (*mode, *(("--allow", rule) for rule in remedy.rules))


def advice(denials: tuple[Denial, ...], remedy: Remedy, granted: Granted) -> str:
    """What to do, line by line, as commands to paste."""
    name, lines = granted.workspace, []
    if remedy.mode or remedy.rules:
        save = f"{granted.program} config -w {name}"
        commands = [f"{save} claude.permission_mode {remedy.mode}"] if remedy.mode else []
        if remedy.rules:
            added = " ".join(f"--add {shlex.quote(rule)}" for rule in remedy.rules)
            commands.append(f"{save} claude.allowed_tools {added}")
        once = " ".join(f"{option} {shlex.quote(value)}" for option, value in options(remedy))
        lines = [f"Allow it: {' && '.join(commands)}", f"{FOR_ONE_RUN}{granted.program} run {name} {once}"]
    lines += [f"No rule is offered: {reason}" for reason in remedy.hopeless[:3]]
    if remedy.hopeless and not lines[0].startswith("Allow"):
        lines.append(f"Tell Claude: {granted.program} note {name} {shlex.quote(_wish(denials, granted))}")
    return "\n".join(lines)


def _wish(denials: tuple[Denial, ...], granted: Granted) -> str:
    """What Claude should do instead of what no rule allows."""
    if any(_is_in_checkout(denial.detail, granted) for denial in denials):
        return f"Work in {granted.roots[0]}, not in {granted.checkout}."
    if any(denial.tool == "Bash" for denial in denials):
        return "Use plain commands, one at a time: no loops, no $(...), no here-documents. Write files with Write."
    tools = " and ".join(sorted({denial.tool for denial in denials}))
    return f"{tools} will be refused again where it was refused: find another way, or report that you are blocked."


def _remedy(denial: Denial, granted: Granted) -> Remedy:
    if _is_hopeless(denial):
        return Remedy(hopeless=(f"Claude Code refuses {_request(denial)} ({_reason(denial)}).",))
    about = _PATH.search(denial.said)
    edits = about is not None or denial.tool in _EDITORS
    path = about["path"] if about is not None else denial.detail
    may_edit = granted.mode in _WRITING_MODES
    if edits and _is_in_checkout(path, granted):
        return Remedy(hopeless=(f"{path} is in your checkout; the run works in {granted.roots[0]}.",))
    if about is not None and about["verb"] not in _WRITES:
        return Remedy(hopeless=(f"{_request(denial)} leaves the project ({path}).",))
    if edits and _is_inside(path, granted) and (about is None or not may_edit):
        if about is not None:
            return _remedy_for_commands(denial, granted, _EDITING)
        return _no_remedy(denial) if may_edit else Remedy(_EDITING)
    if denial.tool == "Bash" and not edits:
        return _remedy_for_commands(denial, granted)
    rule = f"Edit(/{path})" if edits else _rule_for_tool(denial)
    return Remedy(rules=(rule,)) if rule and not is_allowed(rule, granted.tools) else _no_remedy(denial)


def _is_hopeless(denial: Denial) -> bool:
    return denial.why in _HOPELESS_TYPES or _HOPELESS.search(denial.said) is not None


def _remedy_for_commands(denial: Denial, granted: Granted, mode: str = "") -> Remedy:
    """The mode where one of its commands edits files of the project, and rules for all others."""
    found, hopeless = [], []
    for words in _denied_commands(denial):
        program = started_by(words)[0]
        if program in _EDITS and granted.mode not in _WRITING_MODES:
            mode = _EDITING
        elif mode and program in _LOOKS:
            continue
        elif rules := rules_for(words):
            found += [rule for rule in rules if not is_allowed(rule, granted.tools)]
        else:
            hopeless.append(f"one for `{_name(words)}` would allow too much.")
    if found or hopeless or mode:
        return Remedy(mode, tuple(dict.fromkeys(found)), tuple(hopeless))
    return _no_remedy(denial)


def _denied_commands(denial: Denial) -> list[list[str]]:
    """The commands of the line that need a rule: those that Claude Code named, else all but the most common ones."""
    commands = [words for words in commands_in(denial.detail) if started_by(words)]
    parts = _PARTS.search(denial.said)
    if parts is not None and len(denial.said) < _SAID_KEPT:
        named = [words for words in commands if " ".join(words) in parts["parts"]]
        if named:
            return named
    return [words for words in commands if started_by(words)[0] not in _LOOKS] or commands[:1]


def _name(words: list[str]) -> str:
    return " ".join(started_by(words)[:2])


def _rule_for_tool(denial: Denial) -> str:
    """For a file a rule with its path, for a page one with its host, for other tools their name."""
    if denial.tool == "Read" and denial.detail.startswith("/"):
        return f"Read(/{denial.detail})"
    if denial.tool == "WebFetch" and "://" in denial.detail:
        return f"WebFetch(domain:{denial.detail.split('://', 1)[1].split('/', 1)[0]})"
    return denial.tool if " " not in denial.tool else ""


def _no_remedy(denial: Denial) -> Remedy:
    """What is granted should have allowed it: Claude Code has a reason that no rule lifts."""
    why = f" ({_reason(denial)})" if denial.said else ""
    return Remedy(hopeless=(f"Claude Code refuses {_request(denial)} although a rule for it is set{why}.",))


def _is_inside(path: str, granted: Granted) -> bool:
    return not path.startswith("/") or not granted.roots or any(path.startswith(f"{root}/") for root in granted.roots)


def _is_in_checkout(path: str, granted: Granted) -> bool:
    """A run in a worktree is to leave it as it is, but for our own folder in it."""
    checkout = granted.checkout
    return bool(checkout) and path.startswith(f"{checkout}/") and not path.startswith(f"{checkout}/claude-iterate/")


def _request(denial: Denial) -> str:
    return f"`{shorten(one_line(denial.detail), 60)}`" if denial.detail else denial.tool


def _reason(denial: Denial) -> str:
    return shorten(one_line(denial.said), 100)
