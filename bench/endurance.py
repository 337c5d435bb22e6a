"""Runs ten thousand short iterations and samples memory, file descriptors and threads of the runner every second.

The exit code is 1 if the run fails, or if one of them grows with the number of iterations.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from project import NAME, Bench, fake

SETTLED = 4
"""The first of this many parts fills caches; growth counts from there."""
ALLOWED = {"memory_mb": 4.0, "descriptors": 10, "threads": 3}
"""How much the median of the second half may exceed that of the first: what comes and goes in an iteration."""


class Sample(NamedTuple):
    """The runner at one moment."""

    seconds: float
    memory_mb: float
    descriptors: int
    threads: int


def look(pid: int, began: float) -> Sample | None:
    """One sample from /proc; None if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        about = dict(line.split(":", 1) for line in lines if ":" in line)
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        return Sample(
            time.monotonic() - began, int(about["VmRSS"].split()[0]) / 1024, descriptors, int(about["Threads"])
        )
    except (OSError, KeyError):
        return None


def watch(process: subprocess.Popen[bytes], began: float, pause: float, runs: Path) -> list[Sample]:
    """Samples at regular intervals, from the first iteration to the end."""
    samples: list[Sample] = []
    while True:
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            sample = look(process.pid, began) if any(runs.glob("*/raw/*")) else None
            samples += [sample] if sample else []
        else:
            return samples


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/endurance", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, metavar="N", help="iterations (default: 10000)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="claude-iterate-endurance-") as folder:
        bench = Bench(Path(folder), quick=False)
        project = bench.project([bench.script("short-fake", fake())])
        began = time.monotonic()
        words = ("run", NAME, "--no-delay", "-m", str(options.count), "-q")
        process = project.start(*words, stdout=None, stderr=subprocess.DEVNULL)
        samples = watch(process, began, min(1.0, options.count / 2000), project.workspace / "runs")
        took = time.monotonic() - began
        (journal,) = project.workspace.glob("runs/*/events.ndjson")
        finished = journal.read_bytes().count(b'"event":"IterationFinished"')
        written = sum(path.stat().st_size for path in project.workspace.rglob("*") if path.is_file())
    each = 1000 * took / max(1, finished)
    print(f"{finished} iterations in {took:.1f} s ({each:.1f} ms each), exit {process.returncode}")
    print(f"{len(samples)} samples; {written / 1e6:.1f} MB written")
    if process.returncode != 0 or finished != options.count:
        print("the run did not finish")
        return 1
    return _report(samples)


def _report(samples: list[Sample]) -> int:
    if not samples:
        print("too short for a sample")
        return 0
    settled = samples[len(samples) // SETTLED :]
    half = len(settled) // 2
    print(f"{'':12} {'first':>8} {'min':>8} {'max':>8} {'last':>8}")
    for name in ("memory_mb", "descriptors", "threads"):
        values = [getattr(sample, name) for sample in samples]
        print(f"{name:12} {values[0]:8.1f} {min(values):8.1f} {max(values):8.1f} {values[-1]:8.1f}")
    grown = []
    for name, allowed in ALLOWED.items():
        values = [getattr(sample, name) for sample in settled]
        if half and median(values[half:]) - median(values[:half]) > allowed:
            grown.append(name)
    print(f"grows: {', '.join(grown)}" if grown else "flat")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
