"""Faults in what goes into Claude and in what it prints."""

from __future__ import annotations

import base64
import itertools

from claude_iterate.selftest.harness import expectations, interventions
from claude_iterate.selftest.harness.fault import Expected, Scenario
from claude_iterate.selftest.harness.fault_project import Scene
from claude_iterate.selftest.harness.script_steps import COMPLETE, GO, INIT, RESULT, UNFINISHED, Step, done, said

LONG_TASK = "- one line of a very long task, with {{ braces }} and $& in it\n" * 4000
_SNOW = '{"type":"assistant","message":{"content":[{"type":"text","text":"größer ☃ \U0001f600 snow"}]}}\n'.encode()
_ROOM = 250_000_000
"""The longest line that is kept takes 64 MB twice; one of 150 MB that was kept would take more than this."""
_STACK = "".join(f"    at step{number:03} (node:internal/process:{number}:1)\n" for number in range(88))
"""A reason and this are the last 3900 bytes that Claude prints: nearly all that is kept of it."""
_DEEP = "[" * 5000 + "]" * 5000


def _raw(data: bytes) -> Step:
    return {"raw_base64": base64.b64encode(data).decode()}


def _long_agents_file(scene: Scene) -> None:
    (scene.root / "AGENTS.md").write_text("Be kind to the operating system.\n" * 8000)


def _byte_by_byte() -> list[Step]:
    """A line in pieces that end in the middle of characters."""
    cuts = [0, *(place for place, byte in enumerate(_SNOW) if byte >= 0x80), len(_SNOW)]
    return [step for start, end in itertools.pairwise(cuts) for step in (_raw(_SNOW[start:end]), {"sleep": 0.02})]


_TASK_BEGINS: Step = {
    "event": {"type": "system", "subtype": "task_started", "task_id": "t", "task_type": "local_agent"}
}
_TASK_ENDS: Step = {"event": {"type": "system", "subtype": "task_notification", "task_id": "t", "status": "completed"}}

SCENARIOS = (
    Scenario(
        "long-prompt",
        "instructions of 250 KB",
        "A long task would not start, or reach Claude mutilated.",
        (done(),),
        instructions=LONG_TASK,
        checks=(expectations.prompt_holds(1, LONG_TASK), expectations.arguments_are_short),
    ),
    Scenario(
        "long-argument",
        "a system prompt of 260 KB, too long for an argument",
        "A long AGENTS.md would keep Claude from starting.",
        (done(),),
        settings={"claude.agents_file": "AGENTS.md"},
        prepare=_long_agents_file,
        checks=(expectations.arguments_are_short,),
    ),
    Scenario(
        "line-50-mb",
        "one line of 50 MB",
        "A tool that reads a large file would end the run or fill memory and disk.",
        (done({"long_line": 50_000_000}),),
        checks=(expectations.journal_below(1_000_000),),
    ),
    Scenario(
        "line-150-mb",
        "one line of 150 MB, longer than any event",
        "A stream without line ends would fill the memory.",
        (done({"flood": {"lines": 1, "bytes": 150_000_000}}, GO),),
        act=interventions.measured("GarbageSeen"),
        checks=(expectations.journal_below(1_000_000), expectations.memory_below(_ROOM)),
    ),
    Scenario(
        "invalid-utf8",
        "bytes that are no UTF-8",
        "One odd byte in a tool's output would end the run.",
        (done(_raw(b"\xff\xfe\xc3(\xc3(\n"), _raw(b'{"type":"assistant","message":"\xed\xa0\x80"}\n')),),
    ),
    Scenario(
        "nul-bytes",
        "NUL bytes between and within lines",
        "A binary file on Claude's output would end the run.",
        (done(_raw(b"\0\0\0\n"), said("a \0 in a sentence")),),
    ),
    Scenario(
        "split-characters",
        "characters that arrive in pieces",
        "Words in any language but English would be garbled in the log.",
        (done(*_byte_by_byte()),),
        checks=(expectations.logs("größer ☃ \U0001f600 snow"),),
    ),
    Scenario(
        "stderr-1-mb",
        "1 MB on standard error",
        "A chatty Claude would block on a full pipe for ever.",
        (done({"flood": {"stream": "stderr", "lines": 10_000, "bytes": 100}}),),
    ),
    Scenario(
        "stderr-one-line",
        "1 MB on standard error without a line end",
        "A progress bar would fill the memory or the log.",
        (done({"flood": {"stream": "stderr", "lines": 1, "bytes": 1_000_000}}),),
    ),
    Scenario(
        "stderr-then-crash",
        "1 MB on standard error, and then why Claude crashed",
        "The reason would be lost among the chatter, which would fill the memory.",
        (
            [
                {"flood": {"stream": "stderr", "lines": 10_000, "bytes": 100}},
                {"stderr": f"Error: the disk is on fire\n{_STACK}"},
                {"exit": 1},
            ],
            done(),
        ),
        Expected(outcomes=("crash", "ok")),
        checks=(expectations.outcome_says(1, "the disk is on fire"),),
    ),
    Scenario(
        "junk-lines",
        "lines that are no events",
        "A warning that some program prints would end the run.",
        (done({"raw": 'npm WARN old\n\n{}\n[1,2]\nnull\n{"type":\n"\n'}),),
        checks=(expectations.logs("npm WARN old"),),
    ),
    Scenario(
        "deep-nesting",
        "an event nested 5000 levels deep",
        "A crafted tool result would end the run.",
        (done({"raw": '{"type":"user","message":{"content":' + _DEEP + "}}\n"}),),
    ),
    Scenario(
        "unknown-events",
        "events and fields that no release had yet",
        "The next update of Claude Code would end every run.",
        (
            done(
                {"event": {"type": "brand_new", "message": [1]}},
                {"event": {"type": "system", "subtype": 7}},
                {"event": {"type": "assistant", "message": {"content": [{"type": "hologram"}, 5, None]}}},
                {"event": {"type": "rate_limit_event", "rate_limit_info": {"status": ["odd"], "resetsAt": "soon"}}},
            ),
        ),
    ),
    Scenario(
        "result-missing",
        "exit code 0 and no result",
        "An iteration that was cut off would count as done.",
        ([INIT, said("I am nearly"), {"exit": 0}], done()),
        Expected(outcomes=("crash", "ok")),
    ),
    Scenario(
        "result-twice",
        "two results in one call",
        "The cost of an iteration would be counted twice.",
        ([INIT, {"result": {"total_cost_usd": 0.5}}, COMPLETE, {"result": {"total_cost_usd": 0.75}}],),
        checks=(expectations.costs(0.75),),
    ),
    Scenario(
        "result-late",
        "a result, a background task that goes on, a second result",
        "Work in the background would be cut off and lost.",
        # The second prompt comes a moment after the task's end: the grace must begin there.
        ([INIT, _TASK_BEGINS, RESULT, {"sleep": 2.5}, _TASK_ENDS, {"sleep": 0.5}, INIT, COMPLETE, RESULT],),
        settings={"timeouts.result_grace": "2s"},
        flags=("-m", "1"),
        checks=(expectations.has("CutStarted", 0), expectations.has("ResultReported", 2)),
    ),
    Scenario(
        "result-unended",
        "a result without a line end",
        "The last line would be waited for, and the result lost.",
        ([INIT, COMPLETE, {"raw": '{"type":"result","subtype":"success","is_error":false,"result":"bye"}'}],),
    ),
    Scenario(
        "odd-costs",
        "costs below zero, as words, beyond all measure",
        "One odd number would spend the budget, or give it back.",
        (
            [INIT, UNFINISHED, {"result": {"total_cost_usd": -5}}],
            [INIT, UNFINISHED, {"result": {"total_cost_usd": "0.50"}}],
            [INIT, UNFINISHED, {"result": {"total_cost_usd": 1e300}}],
            done(),
        ),
        Expected(outcomes=("ok", "ok", "ok", "ok")),
        # A price in words is a price: money must not be overlooked.
        checks=(expectations.costs(0.51),),
        flags=("--max-cost", "1"),
    ),
)
