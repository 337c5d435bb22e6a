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
    mix.write(silent := bench.folder / "silent.ndjson", 1)
    (fast,) = _ratios(bench, flood, (flood, 0))
    slow, starts = _ratios(bench, paced, (paced, GAP), (silent, 0))
    pace = json.loads((bench.folder / loop.REPORT).read_text())["took"] / few
    bare, *tools = latency.percentiles(bench, few, GAP)
    return [
        Row("f", f"CPU for {many} events, verbose, against bare json.loads", *fast, target=3.5),
        Row("f.paced", f"CPU for {few} events 0.1 ms apart against it", *slow, target=3),
        Row("f.start", "the part of a run without events in it", *starts),
        Row("f.pace", "how far apart they were", 1000 * pace, unit="ms"),
        Row("f.p99", "delay to the console, 99th percentile", *(each.p99 for each in tools), unit="ms", target=20),
        Row("f.added", "how much more than a bare pipe's", *(each.added for each in tools), unit="ms", target=20),
        Row("f.pipe", "99th percentile of a bare pipe", bare.p99, unit="ms"),
    ]


def _ratios(bench: Bench, parsed: Path, *streams: tuple[Path, float]) -> list[list[float]]:
    """For each stream with its gap and each tool: its CPU against that of parsing `parsed`. Processors change their
    speed from second to second, so bare and tools take turns, and medians are compared. The first stream comes last in
    a round: its report stays."""
    bare: list[float] = []
    found: list[list[list[float]]] = [[[] for _ in bench.tools] for _ in streams]
    for _ in range(bench.rounds(5)):
        bare.append(loads(parsed))
        for (stream, gap), tools in reversed([*zip(streams, found, strict=True)]):
            for tool, spent in zip(bench.tools, tools, strict=True):
                spent.append(_cpu(bench, tool, stream, gap))
        bare.append(loads(parsed))
    return [[median(spent) / median(bare) for spent in tools] for tools in found]


def _cpu(bench: Bench, tool: Tool, stream: Path, gap: float) -> float:
    """The output goes to a file, so that no other process takes part."""
    fake = loop.speaking(bench, stream, gap)
    took = loop.run(bench, tool, fake, 1, "--output", "verbose", large=True)
    printing: float = json.loads((bench.folder / loop.REPORT).read_text())["cpu"]
    return took.cpu - printing
