"""A Claude that prints the lines of a file at a steady pace, each with the time at which it is printed:
speaker.py STREAM SECONDS"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

STAMP = b"@NANOSECONDS-SINCE@"
"""Replaced by the time at which the line is printed, which has the same length."""


def now() -> int:
    return time.time_ns()


def main() -> None:
    stream, gap = sys.argv[1], float(sys.argv[2])
    first, *lines = Path(stream).read_bytes().splitlines(keepends=True)
    os.write(1, first)
    time.sleep(0.3)  # the runner is done with its start
    for line in lines:
        time.sleep(gap)
        os.write(1, line.replace(STAMP, b"%d" % now()))


if __name__ == "__main__":
    main()
