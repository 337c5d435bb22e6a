"""What an event costs: CPU and memory of a run whose Claude prints very much at once, that nothing of it is lost, and
how late lines come to the verbose console."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import mix
import speaker
from project import COMMAND_LINE, NAME, Bench, Row, fake

HERE = Path(__file__).resolve().parent
INIT = {"type": "system", "subtype": "init", "session_id": "s"}


class Run(NamedTuple):
    """The figures of one run: its own CPU in seconds, its peak, and the numbered texts that are missing in the log,
    there twice, or out of place."""

    cpu: float
    peak_mb: float
    disorder: int


def measure(bench: Bench) -> list[Row]:
    many = 2_000 if bench.quick else 200_000
    runs = [[_flood(bench, count) for count in (1, many // 10, many)] for _ in range(bench.rounds(3))]
    event = median((large.cpu - empty.cpu) / many for empty, _, large in runs)
    growth = median(large.peak_mb - small.peak_mb for _, small, large in runs)
    p99 = median(_delay(bench, 20 if bench.quick else 400) for _ in range(bench.rounds(3)))
    return [
        Row(f"CPU of an event, verbose, {many} at once", 1e6 * event, "us", 60),
        Row("peak memory", max(large.peak_mb for _, _, large in runs), "MB", 60),
        Row("more of it than for a tenth of the events", growth, "MB", 8),
        Row("texts that were lost, doubled or misplaced", sum(large.disorder for _, _, large in runs), "", 0),
        Row("delay to the console, 99th percentile", p99, "ms", 50),
    ]


def _flood(bench: Bench, many: int) -> Run:
    stream, figures = bench.folder / "stream.ndjson", bench.folder / "figures.json"
    texts = mix.write(stream, many)
    project = bench.project([bench.script("flooding-fake", fake(f"exec cat {shlex.quote(str(stream))}"))])
    launcher = (sys.executable, str(HERE / "in_process.py"), str(figures))
    try:
        if (code := project.run("-m", "1", "-v", program=launcher).code) != 0:
            raise RuntimeError(f"a run of {many} events ended with {code}")
        used = json.loads(figures.read_text())
        (log,) = project.layout.logs()
        return Run(used["cpu"], used["peak_kb"] / 1024, _disorder(log, texts))
    finally:
        shutil.rmtree(project.folder)
        stream.unlink()


def _disorder(log: Path, texts: int) -> int:
    expected, wrong = 0, 0
    with log.open("rb") as file:
        for line in file:
            for found in re.findall(rb"\[#(\d{7})#\]", line):
                wrong += int(found) != expected
                expected = int(found) + 1
    return wrong + (expected != texts)


def _delay(bench: Bench, count: int) -> float:
    """Milliseconds from a line that Claude prints to that line on the verbose console: the 99th percentile."""
    stream = bench.folder / "stamped.ndjson"
    texts = (f"[{number} {speaker.STAMP.decode()}]" for number in range(count))
    said = [{"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}} for text in texts]
    stream.write_text("".join(json.dumps(document) + "\n" for document in (INIT, *said, mix.GOOD)))
    words = (sys.executable, HERE / "speaker.py", stream, 0.005)
    project = bench.project([bench.script("speaking-fake", fake("exec " + shlex.join(map(str, words))))])
    command = (*COMMAND_LINE, "run", NAME, "--no-delay", "-m", "1", "-v")
    process = subprocess.Popen(
        command,
        cwd=project.root,
        env=project.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    delays: list[float] = []
    rest = b""
    with process:
        while data := os.read(process.stderr.fileno(), 65536):
            arrived = speaker.now()
            *lines, rest = (rest + data).split(b"\n")
            stamps = re.findall(rb"\[\d+ (\d+)\]", b"\n".join(lines))
            delays += [(arrived - int(stamp)) / 1e6 for stamp in stamps]
    if len(delays) != count:
        raise RuntimeError(f"{len(delays)} lines instead of {count}")
    return quantiles(delays, n=100, method="inclusive")[98]
