"""What the console holds until it is flushed comes out whole and in order."""

from __future__ import annotations

import io

from claude_iterate.sinks.console.safe_stream import RED, Output


def test_what_others_said_before_stands_before() -> None:
    """Bytes that go past a text stream do not overtake the text that it holds. Nothing to say is nothing written."""
    for encoding in ("utf-8", "utf-16", "ascii"):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding)
        output = Output(stream, color=False)
        output.flush()
        assert raw.getvalue() == b""
        stream.write("first\n")
        output.say(["second"])
        output.flush()
        assert raw.getvalue().decode(encoding) == "first\nsecond\n"


def test_lines_keep_their_order_in_any_look() -> None:
    """Lines in a look of their own, plain ones and our own control text come out in the order in which they came."""
    stream = io.StringIO()
    output = Output(stream, color=True, forced=True)
    output.say(["one"])
    output.say(["two"], RED)
    output.say(["three", "fo\x1bur"])
    output.control("\r")
    output.say(["five"])
    output.flush()
    assert stream.getvalue() == f"one\n\x1b[{RED}mtwo\x1b[0m\nthree\nfo␛ur\n\rfive\n"
