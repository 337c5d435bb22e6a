"""Runs the command line in this process and leaves its own CPU seconds and peak memory in a file."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from claude_iterate.cli.boundary import main as claude_iterate


def peak_kb() -> int:
    """The peak of this process alone: Linux carries ru_maxrss over from the process that started it."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def main() -> int:
    target, *arguments = sys.argv[1:]
    code = claude_iterate(arguments)
    used = resource.getrusage(resource.RUSAGE_SELF)
    Path(target).write_text(json.dumps({"cpu": used.ru_utime + used.ru_stime, "peak_kb": peak_kb()}))
    return code


if __name__ == "__main__":
    sys.exit(main())
