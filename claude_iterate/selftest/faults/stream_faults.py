"""Faults in what goes into Claude and in what it prints."""

from __future__ import annotations

import itertools
import json

from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import COMPLETE, INIT, UNFINISHED, Step, finish, message

LONG_TASK = "- one line of a very long task, with {{ braces }} and $& in it\n" * 4000
_STACK = "".join(f"    at step{number:03} (node:internal/process:{number}:1)\n" for number in range(88))
"""A reason and this are the last 3900 bytes that Claude prints: nearly all that the run keeps."""
_DEPTHS = (300, 950, 5000)


def _long_agents_file(project: FaultProject) -> None:
    (project.root / "AGENTS.md").write_text("Run the tests before every commit.\n" * 8000)


def _nested(depth: int) -> str:
    """The input of a tool and its result, so many levels deep."""
    deep = "[" * depth + "]" * depth
    call = f'{{"type":"tool_use","id":"{depth}","name":"X","input":{{"a":{deep}}}}}'
    answer = f'{{"type":"tool_result","tool_use_id":"{depth}","content":{deep}}}'
    lines = (("assistant", call), ("user", answer))
    return "".join(f'{{"type":"{role}","message":{{"content":[{block}]}}}}\n' for role, block in lines)


_TASK_BEGINS: Step = {
    "event": {"type": "system", "subtype": "task_started", "task_id": "t", "task_type": "local_agent"}
}
_FIRST: Step = {"result": {"result": "first"}}
_SECOND: Step = {"result": {"result": "second"}}
_TASK_ENDS: Step = {"event": {"type": "system", "subtype": "task_notification", "task_id": "t", "status": "completed"}}


def _in_pieces(event: object) -> list[Step]:
    """An event in pieces that end in the middle of characters."""
    line = f"{json.dumps(event, ensure_ascii=False)}\n".encode()
    cuts = [0, *(place for place, byte in enumerate(line) if byte >= 0x80), len(line)]
    pieces = (line[start:end].decode("utf-8", "surrogateescape") for start, end in itertools.pairwise(cuts))
    return [step for piece in pieces for step in ({"raw": piece}, {"sleep": 0.02})]


FAULTS = {
    "long-prompt": Fault(
        "instructions of 250 KB",
        "A long task would not start, or reach Claude damaged.",
        (finish(),),
        instructions=LONG_TASK,
        prompts={1: LONG_TASK},
    ),
    "long-argument": Fault(
        "a system prompt of 260 KB, too long for an argument",
        "Claude would not start with a long AGENTS.md.",
        (finish(),),
        settings={"claude.agents_file": "AGENTS.md"},
        prepare=_long_agents_file,
    ),
    "line-50-mb": Fault(
        "one line of 50 MB",
        "A tool that reads a large file would end the run, or fill memory and disk.",
        (finish({"flood": {"events": True, "lines": 1, "bytes": 50_000_000}}),),
    ),
    "line-150-mb": Fault(
        "one line of 150 MB, longer than any event",
        "A stream without line ends would fill the memory.",
        (finish({"flood": {"lines": 1, "bytes": 150_000_000}}),),
        events={"UnparsedLine": 1},
    ),
    "invalid-utf8": Fault(
        "bytes that are not UTF-8",
        "One invalid byte in the output of a tool would end the run.",
        (finish({"raw": "\udcff\udcfe\udcc3(\udcc3(\n"}),),
    ),
    "nul-bytes": Fault(
        "NUL bytes between and within lines",
        "A binary file in Claude's output would end the run.",
        (finish({"raw": "\0\0\0\n"}, message("a \0 in a sentence")),),
    ),
    "split-characters": Fault(
        "characters that arrive in pieces",
        "The log would garble every language but English.",
        (finish(*_in_pieces(message("größer ☃ \U0001f600 snow")["event"])),),
        logs=("größer ☃ \U0001f600 snow",),
    ),
    "stderr-1-mb": Fault(
        "1 MB on standard error",
        "Claude would block on a full pipe.",
        (finish({"flood": {"stream": "stderr", "lines": 10_000, "bytes": 100}}),),
    ),
    "stderr-one-line": Fault(
        "1 MB on standard error without a line end",
        "A progress bar would fill the memory or the log.",
        (finish({"flood": {"stream": "stderr", "lines": 1, "bytes": 1_000_000}}),),
    ),
    "stderr-then-crash": Fault(
        "1 MB on standard error, then the reason of a crash",
        "The reason would be lost in the noise, which would fill the memory.",
        (
            [
                {"flood": {"stream": "stderr", "lines": 10_000, "bytes": 100}},
                {"stderr": f"Error: the disk is on fire\n{_STACK}"},
                {"exit": 1},
            ],
            finish(),
        ),
        Expected(outcomes=("crash", "ok")),
        prompts={2: "the disk is on fire"},
        reasons={1: "the disk is on fire"},
    ),
    "junk-lines": Fault(
        "lines that are not events",
        "A warning that another program prints would end the run.",
        (finish({"raw": 'npm WARN old\n\n{}\n[1,2]\nnull\n{"type":\n"\n'}),),
        logs=("npm WARN old",),
    ),
    "deep-nesting": Fault(
        "events nested 300 to 5000 levels deep",
        "A crafted tool result would end the run.",
        (finish(*({"raw": _nested(depth)} for depth in _DEPTHS)),),
        flags=("--verbose",),
    ),
    "unknown-events": Fault(
        "events and fields of a future release",
        "The next update of Claude Code would end every run.",
        (
            finish(
                {"event": {"type": "brand_new", "message": [1]}},
                {"event": {"type": "system", "subtype": 7}},
                {"event": {"type": "assistant", "message": {"content": [{"type": "hologram"}, 5, None]}}},
                {"event": {"type": "rate_limit_event", "rate_limit_info": {"status": ["odd"], "resetsAt": "soon"}}},
            ),
        ),
    ),
    "result-missing": Fault(
        "exit code 0 and no result",
        "An interrupted iteration would count as done.",
        ([INIT, message("I am nearly"), {"exit": 0}], finish()),
        Expected(outcomes=("crash", "ok")),
    ),
    "result-twice": Fault(
        "two results in one call",
        "The cost of an iteration would be counted twice.",
        ([INIT, {"result": {"total_cost_usd": 0.5}}, COMPLETE, {"result": {"total_cost_usd": 0.75}}],),
        costs=0.75,
    ),
    "result-unended": Fault(
        "a result without a line end",
        "The run would wait for the rest of the line and lose the result.",
        ([INIT, COMPLETE, {"raw": '{"type":"result","subtype":"success","is_error":false,"result":"bye"}'}],),
    ),
    "odd-costs": Fault(
        "costs that are negative, texts, or absurdly large",
        "One bad number would use up the budget, or refund it.",
        (
            [INIT, UNFINISHED, {"result": {"total_cost_usd": -5}}],
            [INIT, UNFINISHED, {"result": {"total_cost_usd": "0.50"}}],
            [INIT, UNFINISHED, {"result": {"total_cost_usd": 1e300}}],
            finish(),
        ),
        Expected(outcomes=("ok", "ok", "ok", "ok")),
        # A price as text is a price: no cost may be missed.
        costs=0.51,
        flags=("--max-cost", "1"),
    ),
    "result-late": Fault(
        "a result, a background task that continues, a second result",
        "Work in the background would be interrupted and lost.",
        # The second prompt comes a moment after the end of the task: the grace period must begin there.
        ([INIT, _TASK_BEGINS, _FIRST, {"sleep": 5.5}, _TASK_ENDS, {"sleep": 0.5}, INIT, COMPLETE, _SECOND],),
        settings={"timeouts.result_grace": "5s"},
        flags=("-m", "1"),
        events={"CutStarted": 0, "ResultReported": 2, "ResultReported text=first": 1, "ResultReported text=second": 1},
    ),
}
