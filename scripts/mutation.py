"""Changes the code in small ways and prints the changes that no test notices.

A line is changed only if a test of --tests runs it, and only those tests are asked. They should be fast: one process
per change. The copies of the checkout that are changed are temporary; the checkout itself is only read.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import pickle
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from scripts.mutant_runs import Coverage, Edit, Job, copy_of, forked, run_all, tested
from scripts.mutants import Mutant, mutants
from scripts.setting_runs import declared_settings, setting_jobs

ROOT = Path(__file__).parents[1]
ROOMS = ("rules", "state", "outcomes", "settings", "secrets", "reports")
CHOSEN = (*(f"claude_iterate/core/{room}" for room in ROOMS), "claude_iterate/core/abridgement.py")
_GRACE = 20.0
_FACTOR = 10.0


def options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__.splitlines()[0])
    parser.add_argument("--module", action="append", metavar="PATH", help="a file or folder, instead of our choice")
    parser.add_argument("--tests", default="tests/core", metavar="PATH", help="the tests that should notice")
    parser.add_argument("--sample", type=_count, default=300, metavar="N", help="how many changes (300)")
    parser.add_argument("--all", action="store_true", help="all changes")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another seed is another sample")
    parser.add_argument("--settings", action="store_true", help="instead: every setting in turn has no effect")
    parser.add_argument("--only", action="append", metavar="KEY", help="with --settings: only this setting")
    parser.add_argument("--jobs", type=_count, default=2, metavar="N", help="how many at a time (2)")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    for name in given.module or ():
        if Path(name).is_absolute() or not (given.root / name).exists():
            parser.error(f"{name} is not in the checkout; for example: claude_iterate/core/rules")
    if unknown := sorted(set(given.only or ()) - set(declared_settings(given.root) if given.only else ())):
        parser.error(f"there is no setting {', '.join(unknown)}; see docs/reference/settings.md")
    return given


def _count(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 on")
    return int(text)


def modules(root: Path, chosen: list[str]) -> list[str]:
    """The files behind files and folders."""
    found: list[Path] = []
    for name in chosen:
        found += sorted((root / name).rglob("*.py")) if (root / name).is_dir() else [root / name]
    return [str(path.relative_to(root)) for path in found]


def covered(copy: Path, files: list[str], tests: str) -> Coverage:
    """What the tests of the unchanged code run. This fills the copy's caches, too."""
    told = copy.parent / "coverage"

    def work() -> int:
        sys.dont_write_bytecode = False
        coverage = Coverage(copy, files)
        code = tested(copy, [tests], coverage)
        told.write_bytes(pickle.dumps((dict(coverage.lines), coverage.took, foreign_modules(copy))))
        return code

    _, status = os.waitpid(forked(copy, work), 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"Error: the tests fail without any change.\n  Try: scripts/test {tests}")
    coverage = Coverage(copy, files)
    lines, coverage.took, foreign = pickle.loads(told.read_bytes())
    coverage.lines.update(lines)
    for name in foreign:  # once for all children
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return coverage


def foreign_modules(copy: Path) -> list[str]:
    """The modules that this process has imported and that are not in the copy."""
    places = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    return [name for name, place in places if place is not None and not Path(place).is_relative_to(copy)]


def mutant_jobs(copy: Path, given: argparse.Namespace) -> list[Job]:
    files = modules(copy, given.module or [name for name in CHOSEN if (copy / name).exists()])
    coverage = covered(copy, modules(copy, ["claude_iterate"]), given.tests)
    found: list[tuple[Mutant, set[str]]] = []
    for module in files:
        for mutant in mutants(module, (copy / module).read_text()):
            last = mutant.line + mutant.before.count("\n")
            if tests := coverage.tests_of(module, mutant.line, last):
                found.append((mutant, tests))
    if not given.all and len(found) > given.sample:
        found = random.Random(given.seed).sample(found, given.sample)
    return [_job(copy, mutant, tests, coverage) for mutant, tests in found]


def _job(copy: Path, mutant: Mutant, tests: set[str], coverage: Coverage) -> Job:
    edit = Edit(mutant.module, mutant.applied((copy / mutant.module).read_bytes()))
    files = tuple(sorted({test.partition("::")[0] for test in tests}))
    patience = _GRACE + _FACTOR * sum(coverage.took[test] for test in tests)
    return Job(mutant, edit, files, lambda item: item.nodeid in tests, patience)


def main(arguments: list[str] | None = None) -> int:
    given = options(arguments)
    began, counts, survivors = time.monotonic(), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        first = copy_of(given.root, Path(folder, "0"))
        jobs = setting_jobs(first, given.only) if given.settings else mutant_jobs(first, given)
        copies = [first, *(copy_of(first, Path(folder, str(number))) for number in range(1, given.jobs))]

        def report(job: Job, result: str) -> None:
            if job.control:
                if result != "survived":
                    sys.exit("Error: the tests fail without any change.")
                return
            counts[result] += 1
            if result in {"survived", "no test"}:
                survivors.append(str(job.name))
                print(f"{result}: {job.name}", flush=True)

        run_all(jobs, copies, report)
    caught = counts["killed"] + counts["timeout"]
    print(f"{len(survivors)} of {counts.total()} survived, {caught} were caught ({time.monotonic() - began:.0f} s).")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
