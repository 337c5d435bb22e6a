"""The tasks of a plan as a fingerprint, and how many open ones were taken out of it: a task that is gone is not done.

Tasks are known by their words. One with other words is not gone, so only what no new task stands for is counted; a
ticked task may be removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from claude_iterate.core.fingerprints import checksum
from claude_iterate.core.reports.plan_tasks import DONE, tasks_in


def written(text: str) -> str:
    """Each task as the checksum of its words, with a sign: `+` for one that is done, else `-`."""
    return " ".join(f"{'+' if task.state == DONE else '-'}{_checksum(task.text)}" for task in tasks_in(text))


def removed(old: str, was: Iterable[str], now: Iterable[str]) -> int:
    """How many of the open tasks of `old` are in none of the files of the plan `now`, and have nothing in their place
    that was in none of the files before."""
    before, after = _tasks(was), _tasks(now)
    opened = Counter(task[1:] for task in old.split() if task.startswith("-"))
    missing = opened - after
    return max(0, missing.total() - (after - before).total())


def _tasks(files: Iterable[str]) -> Counter[str]:
    return Counter(task[1:] for file in files for task in file.split() if task.startswith(("+", "-")))


def _checksum(text: str) -> str:
    words = " ".join(text.strip("*_`~✅✓✔☑ ").casefold().split())
    return checksum(words.encode("utf-8", "surrogatepass"), 4)
