"""Measures claude-iterate against its budget: figure, target, verdict. A slow figure is not a failure, because machines
differ: the exit code is 0 unless something could not be measured."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import commands
import iterations
import stream
from project import Bench, Row

MEASUREMENTS = {"commands": commands.measure, "iterations": iterations.measure, "stream": stream.measure}
ABOUT = """\
commands: what users wait for; iterations: what a run adds to its calls of Claude; stream: what an event costs.

Wall times are noise on a machine that does something else: look at the load in the last line. All of it takes about
two minutes.
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench/run", description=__doc__, epilog=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small counts: only shows that the benchmark works")
    parser.add_argument("--only", choices=MEASUREMENTS, action="append", help="this measurement (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    options = parser.parse_args()
    rows: list[Row] = []
    began, load, failed = time.monotonic(), os.getloadavg()[0], False
    # On the disk of TMPDIR: a tmpfs makes every sync free and the iterations look better than they are.
    with tempfile.TemporaryDirectory(prefix="claude-iterate-bench-") as folder:
        bench = Bench(Path(folder), options.quick)
        for name in options.only or MEASUREMENTS:
            try:
                rows += MEASUREMENTS[name](bench)
            except Exception as error:  # noqa: BLE001 - what was measured before and after it is printed all the same
                failed = True
                print(f"{name} failed: {type(error).__name__}: {error}", file=sys.stderr)
    about = {"seconds": round(time.monotonic() - began), "load": round(load, 2), "cores": os.cpu_count()}
    if options.json:
        print(json.dumps({"quick": options.quick, **about, "rows": [row.document() for row in rows]}, indent=2))
    else:
        _print_table(rows)
        print(f"\n{about['seconds']} s on {about['cores']} cores; load at the beginning {about['load']}")
    return int(failed)


def _print_table(rows: list[Row]) -> None:
    shown = [["measurement", "value", "target", ""], *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for name, value, target, verdict in shown:
        print(f"{name:{widths[0]}}  {value:>{widths[1]}}  {target:>{widths[2]}}  {verdict}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
