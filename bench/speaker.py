"""A Claude that prints the lines of a file at a steady pace: speaker.py STREAM SECONDS REPORT

It leaves its own CPU seconds and the seconds that it took in the file REPORT.

It sleeps between the lines, as Claude waits for its model. To watch the clock instead would keep a core busy: it would
compete with the runner and with the reader whose delay is measured, on two cores with half of all there is. A sleep of
0.1 ms would take 0.17 ms, because the system gathers the ends of sleeps; it is asked not to, where it can be, and what
sleeps take too long on average is taken off. A line that is late makes the next ones late: they never come in one
piece. The pace that was reached is in the report.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from pathlib import Path

STAMP = b"@NANOSECONDS-SINCE@"
"""Replaced by the time at which the line is printed, which has the same length."""
SLACK = Path("/proc/self/timerslack_ns")
"""By how many nanoseconds Linux may prolong a sleep; it starts with 50,000."""


def main() -> None:
    stream, gap, report = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    first, *lines = Path(stream).read_bytes().splitlines(keepends=True)
    with contextlib.suppress(OSError):
        SLACK.write_text("1")
    os.write(1, first)
    time.sleep(0.3)  # the runner is done with its start
    began = due = time.perf_counter()
    late = 0.0
    for line in lines:
        if (left := due - late - time.perf_counter()) > 0:
            time.sleep(left)
            # A sleep that was much too long was an accident, and says nothing of the next one.
            late = min(max(0.0, late + 0.1 * min(time.perf_counter() - due, gap)), gap / 2)
        due = time.perf_counter() + gap
        os.write(1, line.replace(STAMP, b"%d" % time.time_ns()))
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {"cpu": used.ru_utime + used.ru_stime, "took": time.perf_counter() - began}
    report.write_text(json.dumps(figures))
    os._exit(0)  # whatever Python does at its end would not be in the report


if __name__ == "__main__":
    main()
