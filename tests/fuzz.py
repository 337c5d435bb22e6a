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
sys.path.append(str(ROOT))

from tests import fuzz_targets  # noqa: E402

SLOWEST = 5.0
"""Seconds of processor time: more for one case means that some input makes a reader hang."""
MOST_TOLD = 5


class Search:
    """Counts cases, and keeps the first failure of each place."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.failures: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self._places: set[str] = set()
        self._seed = seed
        self._folder = folder

    def go_on(self, names: list[str], seconds: float) -> None:
        """Until the time is over. Every reader gets as much time as the others, so fast ones see more."""
        spent = dict.fromkeys(names, 0.0)
        while sum(spent.values()) < seconds and len(self.failures) < MOST_TOLD:
            name = min(spent, key=spent.__getitem__)
            self.counts[name] += 1
            began = time.monotonic()
            self.attempt(name, self.counts[name])
            spent[name] += time.monotonic() - began

    def go_through(self, names: list[str], cases: int) -> None:
        """So many cases for every reader: the same on every machine."""
        for name in names:
            for number in range(1, cases + 1):
                self.counts[name] += 1
                self.attempt(name, number)

    def attempt(self, name: str, number: int) -> None:
        """Play one case."""
        chance = random.Random(f"{self._seed}-{name}-{number}")
        began = time.process_time()
        problem = ""
        try:
            fuzz_targets.TARGETS[name](chance, self._folder)
        except Exception:  # noqa: BLE001 - finding these is the purpose
            problem = traceback.format_exc(limit=-8)
        took = time.process_time() - began
        if took > SLOWEST:
            problem = problem or f"File {name}: took {took:.1f} s of processor time\n"
        place = problem.rpartition("File ")[2].partition("\n")[0]
        if problem and place not in self._places:
            self._places.add(place)
            self.failures.append(f"--seed {self._seed} --only {name} --case {number}\n{problem}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/fuzz.py", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="how long (default: 60)")
    parser.add_argument("--cases", type=int, metavar="N", help="so many cases for each reader, however long it takes")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="decides the cases (default: by chance)")
    parser.add_argument("--only", choices=sorted(fuzz_targets.TARGETS), help="one reader alone")
    parser.add_argument("--case", type=int, metavar="N", help="repeat one case of --only")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    with tempfile.TemporaryDirectory(prefix="claude-iterate-fuzz-", dir=_memory()) as folder:
        search = Search(seed, Path(folder))
        if options.case is not None:
            search.attempt(options.only or parser.error("--case needs --only"), options.case)
        else:
            names = [options.only] if options.only else list(fuzz_targets.TARGETS)
            search.go_through(names, options.cases) if options.cases else search.go_on(names, options.seconds)
    for failure in search.failures:
        print(failure)
    print(f"seed {seed}: {', '.join(f'{name} {count}' for name, count in search.counts.items())}")
    print(f"{search.counts.total()} cases, {len(search.failures)} failures")
    return 1 if search.failures else 0


def _memory() -> str | None:
    """A disk would spend the time on being safe."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


if __name__ == "__main__":
    sys.exit(main())
