"""Feeds bad input to everything that reads what others wrote, for as long as it is told to.

Whatever raises (but for the one error that a reader may raise), loses an entry or takes very long is printed, once for
each place, with the case that repeats it, and the exit code is 1. Run: python tests/fuzz.py --seconds 300
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import fuzz_targets  # noqa: E402

SLOWEST = 5.0
"""Seconds of processor time: more for one case means that some input makes a reader take for ever."""
MOST_TOLD = 5


def attempt(name: str, seed: int, number: int, folder: Path) -> str:
    """Play one case; what went wrong, or nothing."""
    chance = random.Random(f"{seed}-{name}-{number}")
    began = time.process_time()
    try:
        fuzz_targets.TARGETS[name](chance, folder)
    except Exception:  # noqa: BLE001 - finding these is the purpose
        return traceback.format_exc(limit=-8)
    took = time.process_time() - began
    return f"took {took:.1f} s of processor time" if took > SLOWEST else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/fuzz.py", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="decides the cases (default: by chance)")
    parser.add_argument("--only", choices=sorted(fuzz_targets.TARGETS), help="one reader alone")
    parser.add_argument("--case", type=int, metavar="N", help="repeat one case of --only")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    names = [options.only] if options.only else list(fuzz_targets.TARGETS)
    failures: list[str] = []
    places: set[str] = set()
    counts: collections.Counter[str] = collections.Counter()
    deadline = time.monotonic() + options.seconds
    # In memory where that is possible: a disk would spend the time on being safe.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="claude-iterate-fuzz-", dir=memory) as folder:
        number = options.case if options.case is not None else 1
        while time.monotonic() < deadline and len(failures) < MOST_TOLD:
            for name in names:
                counts[name] += 1
                problem = attempt(name, seed, number, Path(folder))
                place = problem.rpartition("File ")[2].partition("\n")[0]
                if problem and place not in places:
                    places.add(place)
                    failures.append(f"--seed {seed} --only {name} --case {number}\n{problem}")
            number += 1
            if options.case is not None:
                break
    for failure in failures:
        print(failure)
    print(f"seed {seed}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    print(f"{sum(counts.values())} cases, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
