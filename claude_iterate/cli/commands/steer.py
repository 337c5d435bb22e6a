"""`pause`, `resume`, `stop`, `skip`, `reboot` and `retry`: one way to ask, one table of what can be asked for."""

from __future__ import annotations

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.operations.steering import ask

_HELP = {
    "pause": "Let the running iteration of NAME finish, then hold until `resume`.",
    "resume": "Let a paused run of NAME go on.",
    "stop": "End the run of NAME after its running iteration, or with --now at once. Nothing is lost.",
    "skip": "End the running iteration of NAME now and begin the next; also ends a wait or a delay.",
    "reboot": "End the running iteration of NAME now and do it again with fresh context.",
    "retry": "End a wait of NAME (for a limit, after an error) and try again now.",
}


def _command(verb: str, text: str) -> click.Command:
    @options.command(verb)
    def command(invocation: Invocation, name: str, as_json: bool, now: bool = False) -> int:
        return _steer(invocation, name, verb, now, as_json)

    command.help = text
    if verb == "stop":
        options.flag("--now", help="End Claude at once instead of after this iteration.")(command)
    return command


commands = {verb: _command(verb, text) for verb, text in _HELP.items()}


def _steer(invocation: Invocation, name: str, verb: str, now: bool, as_json: bool) -> int:
    """Ask, wait for the answer, print it."""
    reply = ask(invocation.project.layout(name), verb, now)
    if as_json:
        document = {"name": name, "run": reply.run, "verb": verb, "answered": reply.answered, "message": reply.text}
        output.document(document)
    elif not reply.answered:
        output.warn(reply.text)
    elif reply.effective:
        output.done(reply.text)
    else:
        output.result(reply.text)
    return 0 if reply.answered or (reply.over and verb == "stop") else 1
