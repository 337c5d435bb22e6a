"""(d) The delay from a line that Claude prints to that line on the verbose console, compared with a bare pipe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from statistics import quantiles

from project import COMMAND_LINE, NAME, Bench, ScriptedProject
from table import Row

FAKE = """
import json, sys, time
if "--version" in sys.argv:
    sys.exit(print("9.9.9 (Fake)"))
sys.stdin.read()
def say(**document):
    sys.stdout.write(json.dumps(document) + "\\n")
    sys.stdout.flush()
say(type="system", subtype="init", session_id="s")
time.sleep(0.3)
for number in range({count}):
    text = f"[{{number}} {{time.time_ns()}}]"
    say(type="assistant", message={{"content": [{{"type": "text", "text": text}}]}}, session_id="s")
    time.sleep(0.005)
say(type="result", subtype="success", is_error=False, result="Done.", num_turns=1, session_id="s")
"""


def measure(bench: Bench) -> list[Row]:
    count = 20 if bench.quick else 400
    script = bench.script("ticking-fake.py", FAKE.format(count=count))
    command = (sys.executable, str(script))
    project = bench.project(command)
    bare = _percentiles(_delays(project, command, count, "stdout"))
    ours = _percentiles(_delays(project, (*COMMAND_LINE, "run", NAME, "-m", "1", "-v"), count, "stderr"))
    return [
        Row("d.p50", f"delay of {count} lines to the console, median", ours[0], "ms"),
        Row("d.p99", "the same, 99th percentile", ours[1], "ms", 50),
        Row("d.pipe", "99th percentile of a bare pipe", bare[1], "ms"),
    ]


def _percentiles(delays: list[float]) -> tuple[float, float]:
    cuts = quantiles(delays, n=100, method="inclusive")
    return cuts[49], cuts[98]


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
