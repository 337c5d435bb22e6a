"""All measurements in one table: figure, target, verdict. A slow figure is not a failure, because machines differ: the
exit code is 0 unless something could not be measured."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import commands
import crowd
import flood
import latency
import loop
import start
import verbose
import work
from project import Bench
from table import Row, print_table

MEASUREMENTS = {
    "a": loop.measure,
    "b": flood.measure,
    "c": commands.measure,
    "d": latency.measure,
    "e": start.measure,
    "f": verbose.measure,
    "g": crowd.measure,
    "h": work.measure,
}
ABOUT = """\
a: short iterations; b: a flood of events; c: commands; d: delay of the verbose console; e: a run of one iteration;
f: verbose streams; g: many runs at once; h: measuring what iterations change.

Tool and comparison take turns in every round, so that a change of the machine's speed meets both. Still, wall times
are noise on a machine that does something else: look at the load in the last line. All of it takes about ten minutes.

BENCH_ORIGINAL="node /path/to/dist/cli.js" measures the TypeScript original in the same rounds, in a column of its own.
Its log of a flood can take gigabytes in TMPDIR.
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench/run", description=__doc__, epilog=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small counts: only shows that the benchmark works")
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(MEASUREMENTS),
        metavar="a,b,...",
        help="these measurements (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    options = parser.parse_args()
    unknown = sorted(set(options.only) - set(MEASUREMENTS))
    if unknown:
        parser.error(f"no such measurement: {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}")
    rows: list[Row] = []
    began, load, failed = time.monotonic(), os.getloadavg()[0], False
    # On the disk of TMPDIR: a tmpfs makes every fsync free and (a) look better than it is.
    with tempfile.TemporaryDirectory(prefix="claude-iterate-bench-") as folder:
        bench = Bench(Path(folder), options.quick)
        for key in options.only:
            if sys.stderr.isatty():
                print(f"{time.monotonic() - began:5.0f} s: {key}", file=sys.stderr)
            try:
                rows += MEASUREMENTS[key](bench)
            except Exception as error:  # noqa: BLE001 - what was measured before and after it is told all the same
                failed = True
                print(f"{key} failed: {type(error).__name__}: {error}", file=sys.stderr)
    about = {"seconds": round(time.monotonic() - began), "load": round(load, 2), "cores": os.cpu_count()}
    beside = len(bench.tools) > 1
    if options.json:
        print(json.dumps({"quick": options.quick, **about, "rows": [row.document(beside) for row in rows]}, indent=2))
    else:
        print_table(rows, beside)
        print(f"\n{about['seconds']} s on {about['cores']} cores; load at the beginning {about['load']}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
