"""`pause`, `resume`, `stop`, `skip`, `reboot` and `retry`: one way to ask, one table of requests; and `note`."""

from __future__ import annotations

import sys

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.operations import run_checks
from claude_iterate.operations.steering import ask
from claude_iterate.workspace.run_folder import notes, run_lock

_HELP = {
    "pause": "Finish the running iteration of NAME, then hold until `resume`.",
    "resume": "Continue a paused run of NAME.",
    "stop": "End the run of NAME after its running iteration, or at once with --now. Nothing is lost.",
    "skip": "End the running iteration of NAME now and begin the next; also ends a wait or a delay.",
    "reboot": "End the running iteration of NAME now and repeat it with fresh context.",
    "retry": "End a wait of NAME (for a limit, after an error) and try again now.",
}


def _steering_command(verb: str, text: str) -> click.Command:
    @options.command(verb)
    def command(invocation: Invocation, name: str, now: bool = False) -> int:
        reply = ask(invocation.project.layout(name), verb, now)
        if output.wants_json():
            about = {"name": name, "run": reply.run, "verb": verb, "answered": reply.answered, "message": reply.text}
            output.document(about)
        else:
            show = output.success if reply.effective else output.result
            (show if reply.answered else output.warn)(reply.text)
        return 0 if reply.answered or (reply.over and verb == "stop") else 1

    command.help = text
    if verb == "stop":
        options.flag("--now", help="End Claude at once instead of after this iteration.")(command)
    return command


class _Words(click.Command):
    """Takes a note that begins with a dash, such as `- use tabs`: a word with blanks in it is not an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        flags = [word for word in args[:end] if word.startswith("-") and len(word.split()) == 1 and word != "-"]
        words = [word for word in args[:end] if word not in flags]
        return super().parse_args(ctx, [*flags, "--", *words, *args[end + 1 :]])


@options.command("note", name_required=True, cls=_Words)
@click.argument("text", nargs=-1, required=True)
def note(invocation: Invocation, name: str, text: tuple[str, ...]) -> None:
    """Leave a note for the next iteration of NAME; `-` takes it from standard input.

    The running iteration is not disturbed. The next one finds the note in its prompt; where it
    disagrees with the instructions, the note wins. What should always hold belongs in INSTRUCTIONS.md.

    \b
    Examples:
      claude-iterate note my-task "The tests need Node 22."
      claude-iterate note my-task - < findings.md
      claude-iterate note my-task -- --force is not for us
    """
    layout = invocation.project.layout(name)
    words = " ".join(text)
    if text == ("-",):  # at most as much as shows that it is too long
        data = sys.stdin.buffer.read(notes.LARGEST + 2) if sys.stdin is not None else b""
        words = data.decode("utf-8", "replace")
    identity = notes.add(layout, words)
    running = run_lock.holder(layout.lock) is not None
    document = {"name": name, "note": identity, "running": running}
    done = None if running else run_checks.find_completed(layout)
    how, again = ("is not running", "") if done is None else ("is completed", " --again")
    then = "" if running else f"{name} {how}. Next: claude-iterate run {name}{again}"
    output.answer(document, "Noted for the next iteration.", then)


commands = {"note": note, **{verb: _steering_command(verb, text) for verb, text in _HELP.items()}}
