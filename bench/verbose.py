"""(f) What a verbose run makes of a stream, as fast as it can be read and at a steady pace.

CPU of all processes less that of the Claude that prints the lines, compared with a program that only parses them.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import latency
import loop
import mix
from flood import loads
from project import Bench, Tool
from table import Row

GAP = 0.0001
"""Seconds between two lines of the paced stream."""


def measure(bench: Bench) -> list[Row]:
    many, few = (2000, 200) if bench.quick else (200_000, 20_000)
    flood, paced = bench.folder / "flood.ndjson", bench.folder / "paced.ndjson"
    mix.write(flood, many)
    mix.write(paced, few)
    fast, slow = _ratios(bench, flood, 0), _ratios(bench, paced, GAP)
    pace = json.loads((bench.folder / loop.REPORT).read_text())["took"] / few
    mix.write(flood, 1)
    start = _cpu(bench, bench.tools[0], flood, 0) / loads(paced)
    bare, *tools = latency.percentiles(bench, few, GAP)
    return [
        Row("f", f"CPU for {many} events, verbose, against bare json.loads", *fast, target=3.5),
        Row("f.paced", f"CPU for {few} events 0.1 ms apart against it", *slow, target=3),
        Row("f.start", "the part of a run without events in it", start),
        Row("f.pace", "how far apart they were", 1000 * pace, unit="ms"),
        Row("f.p99", "delay to the console, 99th percentile", *(p99 for _, p99 in tools), unit="ms", target=20),
        Row("f.pipe", "the same of a bare pipe", bare[1], unit="ms"),
    ]


def _ratios(bench: Bench, stream: Path, gap: float) -> list[float]:
    """For each tool. Processors change their speed from second to second, so bare and tools take turns, and medians are
    compared."""
    bare: list[float] = []
    found: list[list[float]] = [[] for _ in bench.tools]
    for _ in range(bench.rounds(5)):
        bare.append(loads(stream))
        for tool, spent in zip(bench.tools, found, strict=True):
            spent.append(_cpu(bench, tool, stream, gap))
        bare.append(loads(stream))
    return [median(spent) / median(bare) for spent in found]


def _cpu(bench: Bench, tool: Tool, stream: Path, gap: float) -> float:
    """The output goes to a file, so that no other process takes part."""
    fake = loop.speaking(bench, stream, gap)
    took = loop.run(bench, tool, fake, 1, "--output", "verbose", large=True)
    printing: float = json.loads((bench.folder / loop.REPORT).read_text())["cpu"]
    return took.cpu - printing
