"""What can be done with a workspace now, as commands to paste. Pure functions."""

from __future__ import annotations

import shlex

_RUNNING = (
    ("logs {name} --follow", "watch it"),
    ('note {name} "..."', "tell the next iteration something"),
)
_AFTER = (
    ("report {name}", "the whole task on one page"),
    ("history {name}", "time and cost of each iteration"),
    ("logs {name}", "everything that Claude did"),
)
_STEER = (*_RUNNING, ("pause {name}", "hold after this iteration"), ("stop {name}", "end after this iteration"))
_ACTIONS = {
    "new": (("run {name}", "begin"), ("validate {name}", "let Claude grade the instructions")),
    "new_task": (("run {name}", "begin"), ("validate {name}", "let Claude grade the instructions"), *_AFTER),
    **dict.fromkeys(("starting", "running", "verifying"), _STEER),
    "stopping": (("stop {name} --now", "end it at once"), *_RUNNING[:1]),
    "paused": (("resume {name}", "go on"), ("stop {name}", "end the run"), *_RUNNING),
    "waiting": (("retry {name}", "try now"), ("stop {name}", "end the run"), *_RUNNING),
    "copy": (("reset {name}", "start again here, beside the original"), *_AFTER),
    "planned": (
        ("build {name}", "work off the plan"),
        ("plan {name} --show", "see the tasks"),
        ("plan {name}", "plan again"),
        *_AFTER,
    ),
    "completed": (*_AFTER, ("verify {name}", "prove it"), ("archive save {name}", "put it away")),
}
_GO_ON = (("run {name}", "go on"), *_AFTER, ("edit {name}", "improve the instructions"))


def next_actions(
    name: str,
    state: str,
    has_instructions: bool,
    program: str = "claude-iterate",
    step: str = "",
    proven: bool = False,
    branch: str = "",
) -> list[tuple[str, str]]:
    """Commands and what they are for, the likeliest first. `program` is what stands before a command here; `step` is
    the next step that the end of the last run named; `proven`: that the task is done needs no proof any more;
    `branch`: that of the last run's worktree."""
    found = _ACTIONS.get(state, _GO_ON)
    if proven and state == "completed":
        found = tuple(action for action in found if not action[0].startswith("verify"))
    if not has_instructions:
        found = (("setup {name}", "write the instructions"),)
    there = f" --worktree={shlex.quote(branch)}" if branch else ""
    commands = [
        (f"{program} {command.format(name=name)}{there if command.startswith('verify') else ''}", what)
        for command, what in found
    ]
    return [(step, "the next step"), *commands[1:]] if step and found is _GO_ON else commands
