"""(d) The delay from a line that Claude prints to that line on the verbose console, compared with a bare pipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from statistics import median, quantiles
from typing import NamedTuple

import loop
import speaker
from project import NAME, Bench, ScriptedProject
from table import Row

INIT = {"type": "system", "subtype": "init", "session_id": "s"}
END = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "num_turns": 1, "session_id": "s"}


class Delay(NamedTuple):
    """Milliseconds: the 50th and the 99th percentile, and how much more the latter is than that of a bare pipe in the
    same round. A bare pipe is slow where the machine does something else."""

    p50: float
    p99: float
    added: float


def measure(bench: Bench) -> list[Row]:
    count = 20 if bench.quick else 400
    bare, *tools = percentiles(bench, count, 0.005)
    return [
        Row("d.p50", f"delay of {count} lines to the console, median", *(each.p50 for each in tools), unit="ms"),
        Row("d.p99", "the same, 99th percentile", *(each.p99 for each in tools), unit="ms", target=50),
        Row("d.pipe", "99th percentile of a bare pipe", bare.p99, unit="ms"),
    ]


def percentiles(bench: Bench, count: int, gap: float) -> list[Delay]:
    """The median of some rounds: of a bare pipe, then of each tool."""
    stream = bench.folder / "stamped.ndjson"
    texts = (f"[{number} {speaker.STAMP.decode()}]" for number in range(count))
    said = [{"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}} for text in texts]
    stream.write_text("".join(json.dumps(document) + "\n" for document in (INIT, *said, END)))
    fake = loop.speaking(bench, stream, gap)
    rounds: list[list[Delay]] = []
    for _ in range(bench.rounds(3)):
        found = [_delays(bench.project([fake]), (str(fake),), count, "stdout")]
        for tool in bench.tools:
            command = (*tool.command, "run", NAME, "--no-delay", "-m", "1", "-v")
            found.append(_delays(bench.project([fake], tool), command, count, tool.console))
        cuts = [quantiles(delays, n=100, method="inclusive") for delays in found]
        rounds.append([Delay(each[49], each[98], each[98] - cuts[0][98]) for each in cuts])
    return [Delay(*map(median, zip(*each, strict=True))) for each in zip(*rounds, strict=True)]


def _delays(project: ScriptedProject, command: tuple[str, ...], count: int, stream: str) -> list[float]:
    """Milliseconds for each line, in order."""
    out, err = (subprocess.PIPE if name == stream else subprocess.DEVNULL for name in ("stdout", "stderr"))
    process = subprocess.Popen(
        command, cwd=project.root, env=project.env, stdin=subprocess.DEVNULL, stdout=out, stderr=err
    )
    pipe = getattr(process, stream)
    delays: list[float] = []
    rest = b""
    while data := os.read(pipe.fileno(), 65536):
        arrived = time.time_ns()
        *lines, rest = (rest + data).split(b"\n")
        for found in re.findall(rb"\[(\d+) (\d+)\]", b"\n".join(lines)):
            if int(found[0]) != len(delays):
                raise RuntimeError(f"line {int(found[0])} came where {len(delays)} was due")
            delays.append((arrived - int(found[1])) / 1e6)
    pipe.close()
    process.wait()
    if len(delays) != count:
        raise RuntimeError(f"{len(delays)} lines instead of {count}")
    return delays
