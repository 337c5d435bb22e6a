"""(b) One iteration with very much output: CPU and memory of the runner, what it writes, and that nothing is lost."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

import loop
import mix
from project import NAME, Bench, call, spent
from table import Row

HERE = Path(__file__).resolve().parent
LOADS = """
import json, sys
with open(sys.argv[1], "rb") as file:
    for line in file:
        json.loads(line)
"""


class Run(NamedTuple):
    """The figures of one run."""

    cpu: float
    peak_mb: float
    written: float
    """Log and journal, as a multiple of the stream."""
    disorder: int
    """Numbered texts that are missing in the log, there twice, or out of place."""


def measure(bench: Bench) -> list[Row]:
    many = 2000 if bench.quick else 200_000
    large, small = bench.folder / "large.ndjson", bench.folder / "small.ndjson"
    texts, few_texts = mix.write(large, many), mix.write(small, many // 10)
    runs: list[Run] = []
    bare: list[float] = []
    for _ in range(bench.rounds(3)):
        runs.append(_run(bench, large, texts))
        bare.append(loads(large))
    modest = _run(bench, small, few_texts)
    peak = max(run.peak_mb for run in runs)
    ratios = [run.cpu / other for run, other in zip(runs, bare, strict=True)]
    lost = sum(run.disorder for run in runs)
    size = large.stat().st_size / 1e6
    rows = [
        Row("b", f"CPU for {many} events against bare json.loads", median(ratios), target=3.5),
        Row("b.spread", "its highest round against its lowest: noise", max(ratios) / min(ratios)),
        Row("b.peak", f"peak memory, stream of {size:.0f} MB", peak, unit="MB", target=80),
        Row("b.growth", f"more than with {size / 10:.0f} MB", abs(peak - modest.peak_mb), unit="MB", target=8),
        Row("b.written", "log and journal against the stream", runs[0].written, target=1.3),
        Row("b.lost", f"of {texts} numbered texts: lost, twice, misplaced", lost, unit="", target=0),
        Row("b.loads", "bare json.loads", median(bare), unit="s"),
    ]
    large.unlink()
    return rows


def _run(bench: Bench, stream: Path, texts: int) -> Run:
    fake = bench.script("flooding-fake", loop.fake(f"exec cat {shlex.quote(str(stream))}"))
    project, figures = bench.project([fake]), bench.folder / "figures.json"
    launcher = (sys.executable, str(HERE / "in_process.py"), str(figures))
    try:
        call(project, "run", NAME, "-m", "1", program=launcher)
        used = json.loads(figures.read_text())
        (log,) = project.layout.logs()
        (journal,) = project.workspace.glob("runs/*/events.ndjson")
        written = (log.stat().st_size + journal.stat().st_size) / stream.stat().st_size
        return Run(used["cpu"], used["peak_kb"] / 1024, written, _disorder(log, texts))
    finally:
        shutil.rmtree(project.folder)


def _disorder(log: Path, texts: int) -> int:
    expected, wrong = 0, 0
    with log.open("rb") as file:
        for line in file:
            for found in re.findall(rb"\[#(\d{7})#\]", line):
                wrong += int(found) != expected
                expected = int(found) + 1
    return wrong + (expected != texts)


def loads(stream: Path) -> float:
    """The CPU seconds of a program that only parses each line."""
    return spent(lambda: subprocess.run([sys.executable, "-c", LOADS, stream], check=True)).cpu
