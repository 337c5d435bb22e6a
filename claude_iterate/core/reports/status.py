"""What the agent reports in `.status.json`: parse it leniently, compare two reports, describe the change.

A wrong optional field costs a warning and never hides `complete`. Reading the file is not done here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from claude_iterate.core.foreign_json import decode_written
from claude_iterate.core.reports.authorship import identity_in

LARGEST = 1024 * 1024
"""A report over this many bytes is refused: it is not a report."""


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """One report of the agent. `None` means: it did not say. `source` is file, or a weaker one: block, boxes. A block
    can say how its `tests` are (passing, failing, not_run), which kind of `work` it did, and how many `tasks` it
    completed and `files` it modified in this iteration: its own word, not measured."""

    complete: bool
    completed: int | None = None
    total: int | None = None
    worked: bool | None = None
    summary: str | None = None
    phase: str | None = None
    blocked: str | None = None
    blockers: tuple[str, ...] = ()
    source: str = "file"
    tests: str | None = None
    work: str | None = None
    tasks: int | None = None
    files: int | None = None

    @property
    def remaining(self) -> int | None:
        """Items left, where the report counts items."""
        if self.total is None or self.completed is None or self.total <= 0:
            return None
        return max(0, self.total - self.completed)


class Reading(msgspec.Struct, frozen=True):
    """The result of reading a report: the status, or why there is none, and what was odd about it. `identity` is the id
    of the iteration that it names; `dated`: it has a `lastUpdated`. `core.reports.authorship` asks for these."""

    status: Status | None
    problems: tuple[str, ...] = ()
    identity: str = ""
    dated: bool = False


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is new in a report against the one before."""

    items: int = 0
    total: int = 0


def parse(data: bytes) -> Reading:
    """Read the bytes of a status file; never raises."""
    if len(data) > LARGEST:
        return Reading(None, (f"it is larger than {LARGEST} bytes",))
    document = decode_written(data)
    if document is None:
        return Reading(None, ("it is not valid JSON",))
    if not isinstance(document, dict):
        return Reading(None, ("it is not a JSON object",))
    if not isinstance(document.get("complete"), bool):
        return Reading(None, ("`complete` must be true or false",))
    return _read_fields(document)


def _read_fields(document: dict[str, Any]) -> Reading:
    problems: list[str] = []
    completed, total = _progress(document.get("progress"), problems)
    blocked = document.get("blocked")
    blockers = document.get("blockers")
    if blockers is None:
        blockers = []
    elif isinstance(blockers, str):
        blockers = [blockers] if blockers.strip() else []
    elif not isinstance(blockers, list):
        problems.append("`blockers` must be a list of strings")
        blockers = []
    status = Status(
        complete=document["complete"],
        completed=completed,
        total=total,
        worked=_optional(document, "worked", bool, problems),
        summary=_optional(document, "summary", str, problems),
        phase=_optional(document, "phase", str, problems),
        blocked=_blocked(blocked, blockers, problems),
        blockers=tuple(str(item) for item in blockers),
    )
    for key in ("notes", "lastUpdated"):  # allowed in a report
        _optional(document, key, str, problems)
    return Reading(status, tuple(problems), identity_in(document), bool(document.get("lastUpdated")))


def _optional(document: dict[str, Any], key: str, kind: type, problems: list[str]) -> Any:
    value = document.get(key)
    if value is None or isinstance(value, kind):
        return value
    problems.append(f"`{key}` must be a {'string' if kind is str else 'boolean'}")
    return None


def _blocked(value: Any, blockers: list[Any], problems: list[str]) -> str | None:
    """`blocked` is a reason; plain `true` borrows its reason from `blockers`."""
    if value is None or value is False or value == "":
        return None
    if isinstance(value, str):
        return value
    if value is True:
        return "; ".join(str(item) for item in blockers) or "no reason given"
    problems.append("`blocked` must be a sentence")
    return None


def _progress(value: Any, problems: list[str]) -> tuple[int | None, int | None]:
    if value is None:
        return None, None
    completed: Any = value.get("completed") if isinstance(value, dict) else None
    total: Any = value.get("total") if isinstance(value, dict) else None
    if not _is_count(completed) or not _is_count(total):
        problems.append("`progress` must be {completed, total} with whole numbers")
        return None, None
    if completed > total:
        problems.append(f"`progress` says {completed} of {total} items are done")
    return int(completed), int(total)


def _is_count(value: Any) -> bool:
    """A JSON number with an integer value; 3.0 is accepted, true is not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < 1e12 and float(value).is_integer()


def compare(before: Status | None, now: Status) -> Change | None:
    """What is new, or None when nothing but the timestamp moved."""
    if before is None:
        return Change(now.completed or 0, now.total or 0)
    change = Change((now.completed or 0) - (before.completed or 0), (now.total or 0) - (before.total or 0))
    return change if change != Change() or _words(now) != _words(before) else None


def _words(status: Status) -> tuple[object, ...]:
    return status.complete, status.summary, status.phase, status.blocked, status.blockers, status.worked


def describe(status: Status, change: Change | None = None) -> str:
    """One line for people: `35/60 items (+5) - summary - ✅ Complete!`."""
    parts = []
    if status.total:
        delta = f" ({change.items:+d})" if change is not None and change.items else ""
        parts.append(f"{status.completed}/{status.total} items{delta}")
    if status.summary:
        parts.append(" ".join(status.summary.split()))
    if status.blocked:
        parts.append(f"blocked: {' '.join(status.blocked.split())}")
    if status.complete:
        parts.append("✅ Complete!")
    return " - ".join(parts) or "no details"
