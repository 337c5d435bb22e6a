"""`watch`: a second terminal that sees a live run, steers it, and leaves it alone when it goes."""

from __future__ import annotations

import re
import signal

from tests.e2e.conftest import DONE, PATIENT, Loop, until
from tests.e2e.terminal import Open


def test_without_a_terminal_each_change_is_a_line_and_the_end_of_the_run_ends_it(loop: Loop) -> None:
    """The last line says why the run ended."""
    loop.make()
    loop.script(PATIENT, DONE)
    run = loop.working()
    watch = loop.start("watch", "my-task")
    assert watch.stdout is not None
    assert watch.stdout.readline().decode().startswith("my-task · running · iteration 1")
    loop.go()
    assert loop.finish(run).code == 0
    seen = loop.finish(watch)
    assert seen.code == 0, seen.err
    last = seen.out.splitlines()[-1]
    assert "completed (not proven)" in last
    assert "nothing has proven it (after 2 iterations)" in last


def test_a_full_screen_pauses_a_run_and_leaves_it(loop: Loop, terminal: Open) -> None:
    """p is the same request as `pause`; q and the loss of the terminal change nothing; the terminal is restored."""
    loop.make()
    loop.script(PATIENT, DONE)
    run = loop.working()
    screen = terminal("watch", "my-task")
    screen.await_text("iteration 1 of 50")
    screen.type("p")
    until(lambda: [event["verb"] for event in loop.events("Requested")] == ["pause"])
    screen.type("q")
    assert screen.finish() == 0
    assert screen.echoes
    lost = terminal("watch", "my-task")
    lost.await_text("iteration 1 of 50")
    lost.process.send_signal(signal.SIGHUP)
    lost.close()
    assert run.poll() is None
    loop.go()
    until(lambda: loop.events("IterationFinished"))
    loop.request("resume")
    assert loop.finish(run).code == 0


def test_nothing_there_is_a_sentence_and_no_error(loop: Loop) -> None:
    """No workspace at all; one that never ran; an unknown name."""
    assert "claude-iterate setup NAME" in loop.call("watch").err
    loop.make()
    assert loop.call("watch", "my-task").out == "my-task · new\n"
    unknown = loop.call("watch", "nope")
    assert (unknown.code, "nope" in unknown.err) == (1, True)


def test_a_terminal_without_colours_gets_none_and_a_dumb_one_gets_lines(loop: Loop, terminal: Open) -> None:
    """`--no-color` holds for the full screen, too: only shades of grey. A dumb terminal cannot have a full screen."""
    loop.make()
    loop.env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    screen = terminal("--no-color", "watch", "my-task")
    screen.await_text("never ran")
    screen.type("q")
    assert screen.finish() == 0
    colours = re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", screen.seen)
    assert colours
    assert [colour for colour in colours if len(set(colour)) > 1] == []
    loop.env["TERM"] = "dumb"
    plain = terminal("watch", "my-task")
    plain.await_text("my-task · new")
    assert plain.finish() == 0
