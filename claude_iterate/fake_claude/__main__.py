"""The built-in fake Claude: replaces `claude` in a dry run, the demo, the self-test and the tests.

`python -m claude_iterate.fake_claude` takes the options of Claude Code and answers in its formats. It works through the
items of INSTRUCTIONS.md, or follows the fault script named by `CLAUDE_ITERATE_FAKE_SCRIPT`, or plays the recorded calls
that `CLAUDE_ITERATE_FAKE_CASSETTE` names. It never uses the network.
It is a program of its own: it imports only the standard library and this package.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from pathlib import Path

from claude_iterate.fake_claude.arguments import Arguments, Refusal, parse
from claude_iterate.fake_claude.call_log import CallLog, claim, record
from claude_iterate.fake_claude.script import Call, ScriptProblem, perform, play, steps_for
from claude_iterate.fake_claude.stream import VERSION, Stream, put
from claude_iterate.fake_claude.work import find_asked_fields, talk, work

PACE = 0.01
"""Seconds between events: slow enough to watch, about 0.15 s for a call."""
LARGEST_STDIN = 10_000_000


def main() -> int:
    """Answer one call; the exit code is the one that Claude Code would give."""
    argv = sys.argv[1:]
    log = CallLog(argv, os.environ)
    _handle_signals(log)
    code = 1
    try:
        code = _answer(argv, log)
    except Refusal as refusal:
        put(f"{refusal}\n".encode("utf-8", "replace"), 2)
    except ScriptProblem as problem:
        put(f"fake claude: {problem}\n".encode("utf-8", "replace"), 2)
        code = 97
    except KeyboardInterrupt:
        code = 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one that comes while Python shuts down would print a traceback
    log.write(code)
    return code


def _handle_signals(log: CallLog) -> None:
    """SIGINT ends the conversation with a result; SIGTERM and SIGHUP end the process at once, without a result."""

    def leave(number: int, _frame: object) -> None:
        log.write(128 + number)
        os._exit(128 + number)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


def _answer(argv: list[str], log: CallLog) -> int:
    arguments = parse(argv)
    if "--version" in arguments.flags:
        put(f"{VERSION} (Claude Code, built-in fake)\n".encode())
        return 0
    stdin = _read_stdin() if arguments.headless else b""
    prompt = _prompt(arguments, stdin)
    log.prompt_bytes = len(prompt.encode("utf-8", "replace"))
    given = os.environ.get("CLAUDE_ITERATE_WORKSPACE")
    workspace = Path(given) if given else None
    number = 0
    if state := os.environ.get("CLAUDE_ITERATE_FAKE_STATE"):  # where calls are counted and recorded
        number = claim(Path(state))
        record(Path(state), number, argv, stdin, os.environ)
    # A script sets its own times; only other work is slowed down, unless the variable sets a pace.
    usual = 0.0 if os.environ.get("CLAUDE_ITERATE_FAKE_SCRIPT") else PACE
    stream = Stream(arguments, float(os.environ.get("CLAUDE_ITERATE_FAKE_PACE") or usual))
    try:
        return _perform(stream, workspace, number, prompt)
    except KeyboardInterrupt:  # also in a conversation it is not a failure
        if arguments.headless:
            stream.interrupt()
        else:
            put(b"(built-in fake Claude) You pressed Ctrl-C, so I leave.\n")
        return 0


def _perform(stream: Stream, workspace: Path | None, number: int, prompt: str) -> int:
    """Do the steps of the cassette or of the script for this call; without any do the usual work."""
    if cassette := os.environ.get("CLAUDE_ITERATE_FAKE_CASSETTE"):
        return play(Path(cassette), stream, workspace, prompt)

    def usual() -> None:
        if stream.arguments.headless:
            work(stream, workspace, prompt)
        else:
            talk(workspace)

    script = os.environ.get("CLAUDE_ITERATE_FAKE_SCRIPT")
    if script and (steps := steps_for(Path(script), number)) is not None:
        return perform(Call(stream, workspace, usual, find_asked_fields(prompt)), steps)
    usual()
    return 1 if stream.failed else 0


def _read_stdin() -> bytes:
    """All of stdin. Like Claude Code it waits three seconds for the first byte and accepts 10 MB at most."""
    if os.isatty(0):
        return b""
    try:
        if not select.select([0], [], [], 3.0)[0]:
            put(b"Warning: no stdin data received in 3s, proceeding without it.\n", 2)
            return b""
        data = sys.stdin.buffer.read(LARGEST_STDIN + 1)
    except (OSError, ValueError):  # closed
        return b""
    if len(data) > LARGEST_STDIN:
        raise Refusal(
            "Error: piped stdin input exceeds 10MB. Pass large content as a file path in your prompt instead."
        )
    return data


def _prompt(arguments: Arguments, stdin: bytes) -> str:
    parts = [part for part in (*arguments.words[:1], stdin.decode("utf-8", "replace")) if part]
    if arguments.headless and not parts:
        raise Refusal("Error: Input must be provided either through stdin or as a prompt argument when using --print")
    prompt = "\n".join(parts)
    if arguments.headless and not prompt.strip():
        raise Refusal("Error: No messages returned from query")
    return prompt


if __name__ == "__main__":
    sys.exit(main())
