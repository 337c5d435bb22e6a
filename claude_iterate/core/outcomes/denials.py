"""What would have allowed what Claude was denied: a permission mode, narrow rules, or nothing at all.

Claude Code says with each refusal why. The type of its reason decides where it means one thing, else its words: some
forms of command are refused whatever the rules are, and then no rule is offered.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

import msgspec

from claude_iterate.core.events import Denial
from claude_iterate.core.formats import one_line, shorten
from claude_iterate.core.outcomes import known_programs, narrow_rules
from claude_iterate.core.outcomes.evidence import FOR_ONE_RUN, Granted
from claude_iterate.core.outcomes.shell_commands import Simple, simple_commands

EDITING = "acceptEdits"
_WRITING = frozenset({EDITING, "bypassPermissions", "auto"})
"""Modes in which files of the project can be written."""
_EDITORS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_HOPELESS_TYPES = frozenset({"safetyCheck", "classifier", "hook", "rule"})
"""Types of reasons that no rule lifts. `other`, `mode` and `asyncAgent` stand for several sorts of them."""
_HOPELESS = re.compile(
    r"^Contains |can't be checked before it runs|shell operators that require approval|cannot be auto-allowed"
    r"|Approve only if you trust"
    r"|evaluates arguments as shell code|is a sensitive file|Dangerous .* operation|\bhook\b"
)
"""How Claude Code words a refusal that no rule lifts."""
_PATH = re.compile(
    r"'(?P<path>/[^']*)' (was blocked\. For security, Claude Code may only (?P<verb>[a-z]+)"
    r"|needs approval\. The path is (?P<where>inside|outside) the working directories)"
)
"""How it names the path of a command that it is about: before 2.1.302 with the verb; since then so only where nothing
is written."""
_WRITES = frozenset({"write", "create", "copy", "move", "remove", "edit"})
_PARTS = re.compile(r"following parts? requires? approval: (?P<parts>.*)")
_SAID_KEPT = 500


class Remedy(msgspec.Struct, frozen=True):
    """A permission mode, rules, and what neither would have allowed, each with its reason."""

    mode: str = ""
    rules: tuple[str, ...] = ()
    hopeless: tuple[str, ...] = ()


def rules(denials: tuple[Denial, ...]) -> tuple[str, ...]:
    """What was missing, sorted, whatever is granted: the same denials are the same words, in whatever order they
    came."""
    return tuple(sorted({need for denial in denials for need in _needs(denial)}))


def remedy(denials: tuple[Denial, ...], granted: Granted) -> Remedy:
    """What would have allowed all of it. A rule that is set already is not offered again."""
    found = [_remedy(denial, granted) for denial in denials]
    return Remedy(
        next((one.mode for one in found if one.mode), ""),
        tuple(sorted({rule for one in found for rule in one.rules})),
        tuple(dict.fromkeys(reason for one in found for reason in one.hopeless)),
    )


def options(denials: tuple[Denial, ...], granted: Granted) -> tuple[tuple[str, str], ...]:
    """The options of `run` that would have allowed it."""
    needed = remedy(denials, granted)
    mode = [("--permission-mode", needed.mode)] if needed.mode else []
    return (*mode, *(("--allow", rule) for rule in needed.rules))


def advice(denials: tuple[Denial, ...], granted: Granted) -> str:
    """What to do, line by line, as commands to paste."""
    needed = remedy(denials, granted)
    name = granted.workspace
    lines = []
    if needed.mode or needed.rules:
        save = f"{granted.program} config -w {name}"
        commands = [f"{save} claude.permission_mode {needed.mode}"] if needed.mode else []
        if needed.rules:
            commands.append(f"{save} claude.allowed_tools {_flags('--add', needed.rules)}")
        mode = f" --permission-mode {needed.mode}" if needed.mode else ""
        flags = f" {_flags('--allow', needed.rules)}" if needed.rules else ""
        lines = [f"Allow it: {' && '.join(commands)}", f"{FOR_ONE_RUN}{granted.program} run {name}{mode}{flags}"]
    lines += [f"No rule is offered: {reason}" for reason in needed.hopeless[:3]]
    if needed.hopeless and not lines[0].startswith("Allow"):
        lines.append(f"Tell Claude: {granted.program} note {name} {shlex.quote(_wish(denials))}")
    return "\n".join(lines)


def _wish(denials: tuple[Denial, ...]) -> str:
    """What Claude should do instead of what no rule allows."""
    if any(denial.tool == "Bash" for denial in denials):
        return "Use plain commands, one at a time: no loops, no $(...), no here-documents. Write files with Write."
    tools = " and ".join(sorted({denial.tool for denial in denials}))
    return f"{tools} will be refused again where it was refused: find another way, or report that you are blocked."


def _flags(flag: str, found: Iterable[str]) -> str:
    return " ".join(f"{flag} {shlex.quote(rule)}" for rule in found)


def _needs(denial: Denial) -> list[str]:
    """What the denial is about: the rules for a command, the kind of a refusal that no rule lifts, else the tool."""
    if _is_hopeless(denial):
        return [f"{denial.tool} ({_reason(denial.said)})"]
    if denial.tool != "Bash":
        return [denial.tool]
    commands = _asking(denial)
    others = [command for command in commands if command.words[0] not in known_programs.EDITS]
    if commands and not others:
        return sorted({f"Bash ({command.words[0]})" for command in commands})
    found = [rule for command in others for rule in narrow_rules.rules_for(command)[:1]]
    anything = [f"Bash ({words})" for command in commands if (words := narrow_rules.runs_anything(command))]
    return found or anything or ["Bash"]


def _remedy(denial: Denial, granted: Granted) -> Remedy:
    if _is_hopeless(denial):
        return Remedy(hopeless=(f"Claude Code refuses {_quoted(denial)} ({_reason(denial.said)}).",))
    about = _PATH.search(denial.said)
    if about is not None:
        inside = about["where"] == "inside" or (not about["where"] and _is_inside(about["path"], granted))
        writes = about["verb"] is None or about["verb"] in _WRITES
        return _on_path(denial, granted, about["path"], inside, writes)
    if denial.tool in _EDITORS:
        return _edit(denial, granted)
    if denial.tool == "Bash":
        return _command(denial, granted)
    rule = _other_rule(denial)
    return Remedy(rules=(rule,)) if rule and not narrow_rules.covered(rule, granted.tools) else _refused(denial)


def _edit(denial: Denial, granted: Granted) -> Remedy:
    """Within the project the mode allows it; elsewhere a rule for this one file."""
    if not _is_inside(denial.detail, granted):
        rule = f"Edit(/{denial.detail})"
        return _refused(denial) if narrow_rules.covered(rule, granted.tools) else Remedy(rules=(rule,))
    return _refused(denial) if granted.mode in _WRITING or denial.tool in granted.tools else Remedy(EDITING)


def _is_hopeless(denial: Denial) -> bool:
    return denial.why in _HOPELESS_TYPES or (bool(denial.said) and _HOPELESS.search(denial.said) is not None)


def _on_path(denial: Denial, granted: Granted, path: str, inside: bool, writes: bool) -> Remedy:
    """A command that touches a path: within the project the mode allows that; elsewhere only a file can be allowed."""
    if inside and granted.mode not in _WRITING:
        return _command(denial, granted, mode=EDITING)
    rule = f"Edit(/{path})"
    if writes and not narrow_rules.covered(rule, granted.tools):
        return Remedy(rules=(rule,))
    return Remedy(hopeless=(f"{_quoted(denial)} leaves the project ({path}).",))


def _command(denial: Denial, granted: Granted, mode: str = "") -> Remedy:
    """The mode where one of its commands edits files of the project, and rules for all others."""
    found, hopeless = [], []
    commands = _asking(denial)
    for position, command in enumerate(commands):
        if command.words[0] in known_programs.EDITS and granted.mode not in _WRITING:
            mode = EDITING
            continue
        if mode and narrow_rules.needs_no_rule(command):
            continue
        after = commands[position + 1] if position + 1 < len(commands) else None
        into_shell = command.feeds and after is not None and narrow_rules.runs_anything(after)
        offered = () if into_shell else narrow_rules.rules_for(command)
        found += [rule for rule in offered if not narrow_rules.covered(rule, granted.tools)]
        if words := narrow_rules.runs_anything(command):
            hopeless.append(f"`{words}` can run anything, so no rule for it is narrow.")
    if found or hopeless or mode:
        return Remedy(mode, tuple(dict.fromkeys(found)), tuple(hopeless))
    return _refused(denial)


def _asking(denial: Denial) -> list[Simple]:
    """The commands of the line that need a rule: those that Claude Code named, else all that do more than read."""
    commands = simple_commands(denial.detail)
    parts = _PARTS.search(denial.said)
    if parts is not None and len(denial.said) < _SAID_KEPT:
        named = [command for command in commands if command.source in parts["parts"]]
        if named:
            return named
    return [command for command in commands if not narrow_rules.needs_no_rule(command)] or commands[:1]


def _other_rule(denial: Denial) -> str:
    """For reading a rule with the file, for a page one with its host, for other tools their name."""
    if denial.tool == "Read" and denial.detail.startswith("/"):
        return f"Read(/{denial.detail})"
    if denial.tool == "WebFetch" and "://" in denial.detail:
        return f"WebFetch(domain:{denial.detail.split('://', 1)[1].split('/', 1)[0]})"
    return denial.tool if " " not in denial.tool else ""


def _refused(denial: Denial) -> Remedy:
    """What is granted should have allowed it: Claude Code has a reason that no rule lifts."""
    why = f" ({_reason(denial.said)})" if denial.said else ""
    return Remedy(hopeless=(f"Claude Code refuses {_quoted(denial)} although a rule for it is set{why}.",))


def _is_inside(path: str, granted: Granted) -> bool:
    return not path.startswith("/") or not granted.roots or any(path.startswith(f"{root}/") for root in granted.roots)


def _quoted(denial: Denial) -> str:
    return f"`{shorten(one_line(denial.detail), 60)}`" if denial.detail else denial.tool


def _reason(said: str) -> str:
    return shorten(one_line(said), 100)
