"""A Claude that prints the lines of a file at a steady pace: speaker.py STREAM SECONDS REPORT

It leaves its own CPU seconds and the seconds that it took in the file REPORT.

A sleep of 0.1 ms takes 0.15 ms or more, so for such a pace it watches the clock instead. It then keeps a core busy. So
that the runner is not starved where cores are few, it yields its core at each look. A line that is late makes the next
ones late: they never come in one piece. The pace that was reached is in the report.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

STAMP = b"@NANOSECONDS-SINCE@"
"""Replaced by the time at which the line is printed, which has the same length."""
SLEEPS = 0.002
"""A wait that is longer than this sleeps."""


def main() -> None:
    stream, gap, report = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    first, *lines = Path(stream).read_bytes().splitlines(keepends=True)
    os.write(1, first)
    time.sleep(0.3)  # the runner is done with its start
    began = due = time.perf_counter()
    for line in lines:
        while (left := due - time.perf_counter()) > 0:
            if left > SLEEPS:
                time.sleep(left)
            else:
                os.sched_yield()
        due = time.perf_counter() + gap
        os.write(1, line.replace(STAMP, b"%d" % time.time_ns()))
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {"cpu": used.ru_utime + used.ru_stime, "took": time.perf_counter() - began}
    report.write_text(json.dumps(figures))
    os._exit(0)  # whatever Python does at its end would not be in the report


if __name__ == "__main__":
    main()
